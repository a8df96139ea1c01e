"""python -m tools.fiak_tables: writes docs/reproductions/fiak.md, tables 1 to 3 of FiAK on our specimens.

Every row is a run for each of three seeds, and as many that prune at random. They lie in a store of their own, so the
command can be stopped at any time and goes on where it was. With all steps it takes hours.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

from commands.progress import say, show_progress
from jobs.client import run_here
from jobs.home import home
from jobs.kind import Kind
from jobs.kinds.fiak import FiakRun
from jobs.kinds.importance import ImportanceRun
from jobs.run import progress_line
from jobs.store import Store

PAGE = Path(__file__).parents[1] / "docs" / "reproductions" / "fiak.md"
SEEDS = (0, 1, 2)
STEPS = 600
SHARE_OF_HEADS = 0.25
HEADINGS = (
    *("gone", "paper", "dense", "with priors", "pruned", "fine-tuned", "mean", "random", "mean"),
    *("operations", "if skipped"),
)

INTRODUCTION = """# FiAK on our specimens

Made by `python -m tools.fiak_tables`; what is computed is in [fiak.md](../fiak.md). The paper trains DeiT tiny on
ImageNet and a language model on WikiText-103 from the start. We begin with models that are trained already, train
priors with them for {steps} steps on the calibration examples, prune, and fine-tune for as many. So the numbers of the
two are not to be compared; what can be compared is the order of the rows. Every number is of the test split, with its
95 % interval, one for each of {seeds} seeds; "random" prunes as much at random and is trained alike. Operations are
shares of the dense model's: what our attention does, and what it would do if pruned scores cost nothing.
"""


@dataclass(frozen=True)
class Row:
    """What is pruned, as our run and as the paper's number."""

    name: str
    paper: str
    kind: FiakRun


def rows_of_images() -> tuple[Row, ...]:
    """Table 1: top-1 of DeiT tiny on ImageNet, 72.23 dense and 73.50 with priors."""
    looker = FiakRun("looker")
    return (
        Row("50 % of scores", "73.56", replace(looker, scores=0.5)),
        Row("60 % of scores", "73.67", replace(looker, scores=0.6)),
        Row("70 % of scores", "73.09", looker),
        Row("70 % of scores, 15 % of keys", "72.78", replace(looker, keys=0.15)),
        Row("70 % of scores, 20 % of keys", "72.25", replace(looker, keys=0.2)),
        Row("30 % of keys", "71.57", replace(looker, scores=0.0, keys=0.3, prior="key")),
    )


def rows_with_heads(mask: str) -> tuple[Row, ...]:
    """Table 2: beside head pruning, which has 68.59 at 23.69 % fewer operations, and FiAK 73.09 at 8.50 % fewer."""
    looker = FiakRun("looker", mask=mask)
    return (
        Row("a quarter of the heads, 50 % of scores", "not given", replace(looker, scores=0.5)),
        Row("a quarter of the heads, 70 % of scores", "not given", looker),
        Row("70 % of scores", "73.09", FiakRun("looker")),
    )


def rows_of_text() -> tuple[Row, ...]:
    """Table 3: perplexity on WikiText-103, 34.29 dense and 33.69 with priors.

    Our texts differ in length, so scores are ranked query by query; the last row ranks them among the layer.
    """
    writer = FiakRun("writer", among="query", n=400)
    return (
        Row("40 % of scores", "33.88", replace(writer, scores=0.4)),
        Row("50 % of scores", "34.28", replace(writer, scores=0.5)),
        Row("40 % of scores, 10 % of keys", "34.21", replace(writer, scores=0.4, keys=0.1)),
        Row("40 % of scores, ranked among the layer", "33.88", replace(writer, scores=0.4, among="layer")),
    )


def main() -> int:
    """Runs what has not been run, and writes the page."""
    parser = argparse.ArgumentParser(prog="python -m tools.fiak_tables", description=__doc__)
    parser.add_argument("--steps", type=int, default=STEPS, help=f"of each training (default: {STEPS})")
    parser.add_argument("--seeds", type=int, nargs="+", default=list(SEEDS))
    parser.add_argument("--page", type=Path, default=PAGE)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    store = Store(home() / "fiak-tables")
    parts = list(page(store, arguments.seeds, arguments.steps))
    arguments.page.parent.mkdir(parents=True, exist_ok=True)
    arguments.page.write_text("\n".join(parts) + "\n", encoding="utf-8")
    return 0


def page(store: Store, seeds: Sequence[int], steps: int) -> Iterator[str]:
    """The whole page, line by line."""
    yield INTRODUCTION.format(steps=steps, seeds=len(seeds))
    tables = {
        "Table 1: images (looker, top-1 accuracy)": rows_of_images(),
        f"Table 2: after removing {SHARE_OF_HEADS:.0%} of the heads by gradient": rows_with_heads(_mask(store)),
        "Table 3: text (writer, perplexity)": rows_of_text(),
    }
    for title, rows in tables.items():
        yield f"\n## {title}\n"
        yield from table(store, rows, seeds, steps)


def table(store: Store, rows: Sequence[Row], seeds: Sequence[int], steps: int) -> Iterator[str]:
    """One row for each thing that is pruned."""
    yield f"| {' | '.join(HEADINGS)} |"
    yield f"|{'---|' * len(HEADINGS)}"
    for row in rows:
        own, control = (
            [
                _result(store, replace(row.kind, by=by, seed=seed, steps_priors=steps, steps_tuning=steps))
                for seed in seeds
            ]
            for by in ("prior", "random")
        )
        saved = own[0]["savings"]
        cells = [row.name, row.paper, _told(own[:1], "dense"), _told(own, "priors"), _told(own, "pruned")]
        cells += [_told(own, "tuned"), _mean(own), _told(control, "tuned"), _mean(control)]
        cells += [f"{100 * saved[name] / saved['flops_dense']:.1f} %" for name in ("flops", "flops_if_skipped")]
        yield f"| {' | '.join(cells)} |"


def _told(results: Sequence[dict[str, Any]], stage: str) -> str:
    """The metric of every seed, with its interval."""
    found = [one["measured"][stage]["test"] for one in results]
    return "; ".join(f"{one['value']:.4g} ({one['low']:.4g} to {one['high']:.4g})" for one in found)


def _mean(results: Sequence[dict[str, Any]]) -> str:
    return f"{statistics.mean(one['measured']['tuned']['test']['value'] for one in results):.4g}"


def _mask(store: Store) -> str:
    """The heads of the looker with the lowest gradient scores."""
    scores: dict[str, float] = _result(store, ImportanceRun("looker", n=200))["scores"]
    return " ".join(sorted(sorted(scores, key=scores.__getitem__)[: round(SHARE_OF_HEADS * len(scores))]))


def _result(store: Store, kind: Kind) -> dict[str, Any]:
    run = run_here(store, kind, lambda one: show_progress(progress_line(one, time.time())))
    show_progress("")
    say(f"{run.title}: {run.state}")
    if run.result is None:
        raise SystemExit(run.message or f"{run.title} is {run.state}")
    return run.result


if __name__ == "__main__":
    raise SystemExit(main())
