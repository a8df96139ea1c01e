"""What the reproductions of learned pruning share: runs that are done once, means over seeds, tables."""

from __future__ import annotations

import math
import statistics
import sys
import textwrap
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from headscope.runs.client import run_here
from headscope.runs.kind import Kind
from headscope.runs.run import progress_line
from headscope.runs.store import Store

DOCUMENTS = Path(__file__).parents[1] / "docs" / "reproductions"
SEEDS = (0, 1, 2)
WIDTH = 120
RATE = 5e-4
"""Learning rate of the weights, for specimens: higher than by default, as they are small."""

STUDENT = {2: 12.706, 3: 4.303, 4: 3.182, 5: 2.776, 6: 2.571, 7: 2.447, 8: 2.365, 9: 2.306, 10: 2.262}
"""The 97.5 % quantile of Student's t by the number of values of a mean."""


def result_of(kind: Kind) -> dict[str, Any]:
    """The result of a run, done now or found; one that was stopped goes on from its last checkpoint."""
    store = Store()
    shown = [0.0]

    def watch(run: Any) -> None:
        share = math.floor(20 * run.share) / 20
        if share > shown[0]:
            shown[0] = share
            print(f"  {progress_line(run, time.time())}", file=sys.stderr, flush=True)

    print(kind.title, file=sys.stderr, flush=True)
    run = run_here(store, kind, watch)
    if run.result is None:
        raise ValueError(f"{kind.title}: {run.message or run.state}")
    return run.result


def over_seeds(make: Callable[[int], Kind], seeds: Sequence[int] = SEEDS) -> list[dict[str, Any]]:
    """The results of the same run for every seed."""
    return [result_of(make(seed)) for seed in seeds]


def interval(values: Iterable[float]) -> tuple[float, float, float]:
    """The mean, and its 95 % interval over seeds by Student's t."""
    found = list(values)
    mean = statistics.fmean(found)
    half = STUDENT[len(found)] * statistics.stdev(found) / math.sqrt(len(found)) if len(found) > 1 else math.nan
    return mean, mean - half, mean + half


def told(values: Iterable[float], digits: int = 2) -> str:
    """The mean with its interval, as a cell of a table."""
    mean, low, high = interval(values)
    return f"{mean:.{digits}f} ({low:.{digits}f} to {high:.{digits}f})"


def on_test(found: dict[str, Any], name: str) -> float:
    """The headline metric on test of a learned run: before, mask_alone, masked or after."""
    return float(found["report"]["test"][name]["value"])


def changes(found: Iterable[dict[str, Any]], name: str = "after") -> list[float]:
    """How far the metric on test is from that of the model as it was, run by run."""
    return [on_test(one, name) - on_test(one, "before") for one in found]


def table(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table of a document."""
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)


def write_growing(name: str, beginning: str, parts: Mapping[str, Callable[[], Sequence[str]]], end: str) -> None:
    """A document that is written again after each of its parts; those that were not run yet are named at its end."""
    done: list[str] = []
    names = list(parts)
    for number, part in enumerate(parts.values()):
        done += part()
        left = names[number + 1 :]
        missing = [f"Not run yet, the same command goes on with it: {', '.join(left)}."] if left else []
        write(name, [beginning, *done, end, *missing])


def write(name: str, parts: Iterable[str]) -> None:
    """A document of these parts, blank lines between them."""
    DOCUMENTS.mkdir(parents=True, exist_ok=True)
    lines = [wrapped for part in parts for line in [*part.split("\n"), ""] for wrapped in _wrapped(line)]
    (DOCUMENTS / name).write_text("\n".join(lines[:-1]) + "\n", encoding="utf-8")
    print(f"wrote {DOCUMENTS / name}", file=sys.stderr)


def _wrapped(line: str) -> list[str]:
    """A line of text as several; tables and headings stay as they are."""
    return (
        [line]
        if line.startswith(("|", "#")) or not line
        else textwrap.wrap(line, WIDTH, break_long_words=False, break_on_hyphens=False)
    )
