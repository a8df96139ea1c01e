"""python -m headscope.specimens.ship NAME: writes the last checkpoint of a run as a specimen, with card and history."""

from __future__ import annotations

import argparse
import json
import logging
from pathlib import Path
from typing import Any

import torch

from headscope.models.head_model import HeadModel
from headscope.specimens.card import card_of, readme
from headscope.specimens.measures import SHARES, gradient_scores, pruning_curve, task_of
from headscope.specimens.recipe import Recipe, recipe_of
from headscope.specimens.shipped import SHIPPED, load

HISTORY_SCORES = 64
HISTORY_CURVE = 100

log = logging.getLogger("specimens")


def main() -> None:
    """Reads the command line and ships."""
    parser = argparse.ArgumentParser(prog="python -m headscope.specimens.ship", description=__doc__)
    parser.add_argument("name")
    parser.add_argument("--run", type=Path, help="folder of the checkpoints")
    parser.add_argument("--weights-only", action="store_true", help="leave card and history for later")
    arguments = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s", datefmt="%H:%M:%S")
    torch.set_num_threads(1)
    recipe = recipe_of(arguments.name)
    run = arguments.run or SHIPPED / ".runs" / f"{arguments.name}-1"
    if arguments.weights_only:
        write_weights(recipe, run)
    else:
        ship(recipe, run)


def ship(recipe: Recipe, run: Path) -> None:
    """Writes weights, tokenizer, card.json, README.md and history.json."""
    folder = SHIPPED / recipe.name
    counts = write_weights(recipe, run)
    card = card_of(recipe, load(recipe.name), counts)
    (folder / "card.json").write_text(json.dumps(card, indent=1) + "\n")
    (folder / "README.md").write_text(readme(card))
    (folder / "history.json").write_text(json.dumps(history(recipe, run)) + "\n")
    log.info("shipped %s: %s", recipe.name, card["metrics"][0])


def write_weights(recipe: Recipe, run: Path) -> dict[str, Any]:
    """Writes the model in half precision and its tokenizer; returns the counts of the run."""
    state = torch.load(run / "last.pt", weights_only=True)
    head_model = _at(recipe, run, state)
    folder = SHIPPED / recipe.name
    head_model.model.half().save_pretrained(folder)
    config = json.loads((folder / "config.json").read_text())
    config["dtype"] = "float32"
    (folder / "config.json").write_text(json.dumps(config, indent=2, sort_keys=True) + "\n")
    head_model.tokenizer.save_pretrained(folder)
    counts: dict[str, Any] = state["counts"]
    return counts


def history(recipe: Recipe, run: Path) -> dict[str, Any]:
    """Per-head scores and a pruning curve at every snapshot of the run, and at its end."""
    snapshots = sorted(run.glob("step-*.pt"), key=lambda path: int(path.stem.split("-")[1]))
    points = []
    for path in [*snapshots, run / "last.pt"]:
        state = torch.load(path, weights_only=True)
        head_model = _at(recipe, run, state)
        scores = gradient_scores(head_model, "calibration", HISTORY_SCORES)
        curve = pruning_curve(head_model, scores, "development", HISTORY_CURVE)
        points.append(
            {
                "step": state["counts"]["step"],
                "tokens": state["counts"]["tokens"],
                "minutes": round(state["counts"]["seconds"] / 60, 2),
                "scores": [float(f"{score:.3g}") for score in scores.tolist()],
                "curve": [round(value, 4) for value in curve],
            }
        )
        log.info("history at step %s: %s", points[-1]["step"], points[-1]["curve"])
    return {
        "heads": [str(head) for head in head_model.grid],
        "removed": list(SHARES),
        "metric": task_of(head_model).metrics[0].name,
        "scores": f"mean over {HISTORY_SCORES} calibration examples of |dL/dgate|, each example's own",
        "curve": f"metric on {HISTORY_CURVE} development examples, heads of the lowest score removed first",
        "points": points,
    }


def _at(recipe: Recipe, run: Path, state: dict[str, Any]) -> HeadModel:
    """The model as it was at a checkpoint."""
    processor = recipe.processor_class.from_pretrained(run / "processor")
    model = recipe.model(processor)
    model.load_state_dict(state["model"])
    return HeadModel.of(model, processor, recipe.name)


if __name__ == "__main__":
    main()
