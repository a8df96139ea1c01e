"""python -m headscope.specimens.train NAME: trains a specimen and ships it; stopped, it goes on where it was."""

from __future__ import annotations

import argparse
import logging
import time
from pathlib import Path
from typing import Any

import torch

from headscope.specimens.recipe import Recipe, recipe_of
from headscope.specimens.ship import ship
from headscope.specimens.trainer import Progress, Training, is_snapshot_step, save

RUNS = Path(__file__).parent / ".runs"
SECONDS_BETWEEN_LINES = 15
SECONDS_BETWEEN_CHECKPOINTS = 120

log = logging.getLogger("specimens")


def main() -> None:
    """Reads the command line and trains."""
    parser = argparse.ArgumentParser(prog="python -m headscope.specimens.train", description=__doc__)
    parser.add_argument("name")
    parser.add_argument("--minutes", type=float, help="stop after so many minutes; the next call goes on")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--steps", type=int, help="length of the schedule, if not that of the recipe")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--run", type=Path, help="folder of the checkpoints")
    arguments = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s", datefmt="%H:%M:%S")
    torch.set_num_threads(arguments.threads)
    run = arguments.run or RUNS / f"{arguments.name}-{arguments.seed}"
    recipe = recipe_of(arguments.name)
    training = Training(recipe, arguments.seed, arguments.steps, processor_of(recipe, run))
    if (run / "last.pt").exists():
        training.load(torch.load(run / "last.pt", weights_only=True))
    if train(training, run, arguments.minutes):
        ship(training.recipe, run)


def processor_of(recipe: Recipe, run: Path) -> Any:
    """The tokenizer of the run, made and kept when the run begins."""
    folder = run / "processor"
    if not folder.exists():
        recipe.processor().save_pretrained(folder)
    return recipe.processor_class.from_pretrained(folder)


def train(training: Training, run: Path, minutes: float | None = None) -> bool:
    """True if the schedule came to its end, False if the minutes did."""
    begin = spoken = saved = time.monotonic()
    for progress in training.steps():
        now = time.monotonic()
        if is_snapshot_step(progress.step):
            save(training.state() | {"optimizer": None}, run / f"step-{progress.step}.pt")
        if now - spoken > SECONDS_BETWEEN_LINES:
            log.info(line(progress))
            spoken = now
        if now - saved > SECONDS_BETWEEN_CHECKPOINTS:
            save(training.state(), run / "last.pt")
            saved = now
        if minutes is not None and now - begin > 60 * minutes:
            break
    save(training.state(), run / "last.pt")
    return training.step >= training.schedule.steps


def line(progress: Progress) -> str:
    """Progress in one line."""
    left = progress.seconds / progress.step * (progress.steps - progress.step) / 60
    speed = progress.tokens / progress.seconds
    return (
        f"step {progress.step}/{progress.steps}  loss {progress.loss:.3f}  rate {progress.rate:.2e}  "
        f"{speed:.0f} tokens/s  {left:.1f} min left"
    )


if __name__ == "__main__":
    main()
