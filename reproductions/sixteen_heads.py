"""python -m reproductions.sixteen_heads [SPECIMEN …]: writes docs/reproductions/sixteen-heads.md.

Of the specimens that are not named the page keeps what it says. The runs lie in a folder of their own, so that the
command can be stopped at any time and goes on where it was.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from headscope.cli.terminal import say, show_progress
from headscope.models.heads import HeadId
from headscope.runs.client import run_here
from headscope.runs.data_dir import home
from headscope.runs.kind import Kind
from headscope.runs.kinds.ablations import AblationsRun
from headscope.runs.kinds.sweep import SweepRun
from headscope.runs.run import progress_line
from headscope.runs.store import Store
from headscope.tasks.task_catalog import SPECIMEN_TASKS
from reproductions import sixteen_heads_paper as paper
from reproductions.curve_svg import Curve, curves_svg

PAGE = Path(__file__).parents[1] / "docs" / "reproductions" / "sixteen-heads.md"
SECOND = {"translator": "natural-translation", "writer": "natural-text", "all-attention-writer": "natural-text"}
"""The second data set of a specimen; of the others it is their test split."""

BY_LAYER = {"scale": "layer"}
"""The scores of the paper are divided by the norm of their layer."""

STEP = 0.1
SAME_DATA = "same data, other split"
"""What is said where the second data set is none: the paper's are of another domain."""


@dataclass(frozen=True)
class Found:
    """What was found about one specimen: its tables, and its curve in the order of three kinds of scores."""

    name: str
    tables: dict[str, Any]
    by_gradient: dict[str, Any]
    by_raw_gradient: dict[str, Any]
    by_ablation: dict[str, Any]

    @property
    def higher_is_better(self) -> bool:
        """Whether more of the metric is better."""
        return bool(self.tables["higher_is_better"])

    @property
    def significant(self) -> list[dict[str, Any]]:
        """The heads whose removal alone changes the metric."""
        return [row for row in self.tables["alone"] if row["significant"]]


def main() -> int:
    """Runs what has not been run, and writes the page."""
    torch.set_num_threads(1)
    store = Store(home() / "sixteen-heads")
    names = sys.argv[1:] or list(SPECIMEN_TASKS)
    if unknown := [name for name in names if name not in SPECIMEN_TASKS]:
        raise SystemExit(f"no specimen {unknown[0]!r}; known: {', '.join(SPECIMEN_TASKS)}")
    before = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
    found = [_found(store, name) for name in names]
    PAGE.parent.mkdir(parents=True, exist_ok=True)
    for one in found:
        (PAGE.parent / _picture(one)).write_text(_svg(one), encoding="utf-8")
    PAGE.write_text(page([*read_page(before), *map(Told.of, found)]), encoding="utf-8")
    return 0


@dataclass(frozen=True)
class Told:
    """What the page says of one specimen: its column of the first table, and its section."""

    name: str
    metric: str
    column: dict[str, str]
    section: str

    @classmethod
    def of(cls, one: Found) -> Told:
        """As it was found."""
        column = {question: row(one) for row, (question, _) in zip(_ROWS, paper.SUMMARY, strict=True)}
        section = "\n".join([*_alone(one), "", *_layers(one), "", *_second(one), "", *_curves(one)])
        return cls(one.name, one.tables["metric"], column, section)


def page(told: Sequence[Told]) -> str:
    """The whole page, in the order of the catalogue; of two that tell of one specimen the later counts."""
    latest = {one.name: one for one in told}
    known = [
        *(name for name in SPECIMEN_TASKS if name in latest),
        *(name for name in latest if name not in SPECIMEN_TASKS),
    ]
    shown = [latest[name] for name in known]
    sections = [f"\n## {one.name}\n\n{one.section}" for one in shown]
    return "\n".join([paper.INTRODUCTION, *_summary(shown), paper.TABLES, *sections]) + "\n"


def read_page(text: str) -> list[Told]:
    """What a page that was written before says of every specimen."""
    rows = [line.strip("| ").split(" | ") for line in text.split("\n") if line.startswith("| ")]
    head = next((row for row in rows if paper.SUBJECTS[0] in row), [])
    names = [cell.partition(", ")[::2] for cell in head[head.index(paper.SUBJECTS[-1]) + 1 :]] if head else []
    cells = {row[0]: row[-len(names) :] for row in rows if row[0] in dict(paper.SUMMARY)} if names else {}
    sections = dict(part.split("\n", 1) for part in text.split("\n## ")[1:])
    return [
        Told(
            name, metric, {question: own[place] for question, own in cells.items()}, sections[name].strip("\n")
        )
        for place, (name, metric) in enumerate(names)
    ]  # fmt: skip


def _found(store: Store, name: str) -> Found:
    kinds: tuple[Kind, ...] = (
        AblationsRun(name, second=SECOND.get(name, ""), options=BY_LAYER, step=STEP),
        SweepRun(name, options=BY_LAYER, step=STEP),
        SweepRun(name, step=STEP),
        SweepRun(name, method="ablation", step=STEP),
    )
    return Found(name, *(_result(store, kind) for kind in kinds))


def _result(store: Store, kind: Kind) -> dict[str, Any]:
    run = run_here(store, kind, lambda one: show_progress(progress_line(one, time.time())))
    show_progress("")
    say(f"{run.title}: {run.state}")
    if run.result is None:
        raise SystemExit(run.message or f"{run.title} is {run.state}")
    return run.result


# the table that stands first


def _summary(told: Sequence[Told]) -> Iterator[str]:
    names = [f"{one.name}, {one.metric}" for one in told]
    yield f"| | {' | '.join([*paper.SUBJECTS, *names])} |"
    yield f"|---|{'---|' * (len(paper.SUBJECTS) + len(told))}"
    for question, theirs in paper.SUMMARY:
        yield f"| {question} | {' | '.join([*theirs, *(one.column.get(question, '–') for one in told)])} |"


def _dense(one: Found) -> str:
    development, test = (one.tables["whole"][split] for split in ("development", "test"))
    return f"{development['value']:.4g} (n {development['n']}); test {test['value']:.4g} (n {test['n']})"


def _n_significant(one: Found) -> str:
    better = [row for row in one.significant if _is_better(one, row["difference"])]
    return f"{len(one.significant)} of {len(one.tables['alone'])}, {len(better)} for the better"


def _extremes(one: Found) -> str:
    rows = sorted(one.tables["alone"], key=lambda row: row["difference"])
    return ", ".join(f"{_signed(row['difference'])} (`{row['head']}`)" for row in (rows[0], rows[-1]))


def _n_layers(one: Found) -> str:
    rows = [row["test"] for row in one.tables["layers"]]
    worse = [row for row in rows if row["significant"] and not _is_better(one, row["difference"])]
    return f"{len(rows) - len(worse)} of {len(rows)}"


def _correlation(one: Found) -> str:
    second = one.tables["second"]
    value = "–" if second["pearson"] is None else f"{second['pearson']:.2f}"
    same = f"{SAME_DATA}: " if second["task"] == one.tables["task"] else ""
    return f"{value} ({same}{second['task']}, {second['split']})"


def _prunable(one: Found) -> str:
    return _until_worse(one.by_gradient)


def _against_oracle(one: Found) -> str:
    mean = statistics.fmean if one.higher_is_better else statistics.geometric_mean  # one perplexity may outweigh all
    means = {name: mean(value for _, value in _pairs(curve)) for name, curve in _whole_curves(one).items()}
    return "; ".join(f"{name} {mean:.4g}" for name, mean in means.items())


_ROWS = (_dense, _n_significant, _extremes, _n_layers, _correlation, _prunable, _against_oracle)


def _until_worse(curve: dict[str, Any]) -> str:
    """The last point before the first that is significantly worse, as a share of the heads that could go."""
    worse, n = curve["first_worse"], curve["points"][-1]["removed"]
    if worse is None:
        return "all"
    before = max(point["removed"] for point in curve["points"] if point["removed"] < worse["removed"])
    return f"{100 * before / n:.0f} % ({before} of {n}); worse at {100 * worse['removed'] / n:.0f} %"


def _is_better(one: Found, difference: float) -> bool:
    return difference > 0 if one.higher_is_better else difference < 0


# the tables of one specimen


def _alone(one: Found) -> Iterator[str]:
    whole = one.tables["whole"]["development"]
    yield (
        f"{one.tables['task']}, {whole['metric']} {whole['value']:.4g} on {whole['n']} development examples. "
        "How it changes without each head alone; **bold** where p < 0.01:\n"
    )
    rows: dict[str, list[dict[str, Any]]] = {}
    for row in one.tables["alone"]:
        head = HeadId.parse(row["head"])
        rows.setdefault(f"{head.bank} {head.layer}", []).append(row)
    width = max(map(len, rows.values()))
    yield f"| layer | {' | '.join(map(str, range(width)))} |"
    yield f"|---|{'---|' * width}"
    for layer, own in rows.items():
        cells = {HeadId.parse(row["head"]).head: _change(row) for row in own}
        yield f"| {layer} | {' | '.join(cells.get(place, '') for place in range(width))} |"


def _change(row: dict[str, Any]) -> str:
    text = _signed(row["difference"])
    return f"**{text}**" if row["significant"] else text


def _signed(number: float) -> str:
    return f"{number:+.3g}".replace("-", "−") if number else "0"


def _plain(number: float) -> str:
    return f"{number:.3g}" if number < 1000 else f"{number:,.0f}"


def _layers(one: Found) -> Iterator[str]:
    yield "Every layer reduced to the one head that did best on development, and what that did on test:\n"
    yield "| layer | head | development | test | p on test |"
    yield "|---|---|---|---|---|"
    for row in one.tables["layers"]:
        head, test = HeadId.parse(row["head"]), row["test"]
        cells = (f"{head.bank} {head.layer}", head.head, _change(row["development"]), _change(test), f"{test['p']:.3f}")
        yield f"| {' | '.join(map(str, cells))} |"


def _second(one: Found) -> Iterator[str]:
    second, whole = one.tables["second"], one.tables["whole"]["second"]
    marked = sum(row["significant"] for row in second["alone"])
    value = "none, for one of the two does not change" if second["pearson"] is None else f"{second['pearson']:.2f}"
    yield (
        f"On {second['task']}, {second['split']} ({whole['metric']} {whole['value']:.4g}, n {whole['n']}), "
        f"{marked} of {len(second['alone'])} heads matter when removed alone; correlation with the table above "
        f"{value}, of ranks {second['spearman']:.2f}."
    )


def _curves(one: Found) -> Iterator[str]:
    yield f"![{one.tables['metric']} by share of heads removed]({_picture(one)})\n"
    curves = _named_curves(one)
    shares = [round(100 * share) for share, _ in _pairs(one.by_gradient)]
    yield f"| heads removed | {' | '.join(f'{share} %' for share in shares)} | not significantly worse up to |"
    yield f"|---|{'---|' * (len(shares) + 1)}"
    for name, curve in curves.items():
        values = [_plain(value) for _, value in _pairs(curve)]
        values += [""] * (len(shares) - len(values))
        yield f"| {name} | {' | '.join(values)} | {_until_worse(curve)} |"
    means = [_plain(statistics.fmean(values)) for _, values in _random(one.by_gradient)]
    yield f"| mean of {len(one.by_gradient['random'])} random orders | | {' | '.join(means)} | |"


def _named_curves(one: Found) -> dict[str, dict[str, Any]]:
    banks = one.tables["banks"]
    return _whole_curves(one) | ({f"{bank} alone": curve for bank, curve in banks.items()} if len(banks) > 1 else {})


def _whole_curves(one: Found) -> dict[str, dict[str, Any]]:
    return {
        "by gradient": one.by_gradient,
        "by gradient, not by layer": one.by_raw_gradient,
        "by ablation": one.by_ablation,
    }


def _pairs(curve: dict[str, Any]) -> list[tuple[float, float]]:
    n = curve["points"][-1]["removed"]
    return [(point["removed"] / n, point["value"]) for point in curve["points"]]


def _random(curve: dict[str, Any]) -> list[tuple[float, list[float]]]:
    n = curve["points"][-1]["removed"]
    return [(row[0]["removed"] / n, [one["value"] for one in row]) for row in zip(*curve["random"], strict=True)]


def _svg(one: Found) -> str:
    curves = [Curve(name, tuple(_pairs(curve))) for name, curve in _named_curves(one).items()]
    whole = one.by_gradient["points"][0]["value"]
    band = [(share, min(values), max(values)) for share, values in _random(one.by_gradient)]
    return curves_svg(one.tables["metric"], curves, [(0.0, whole, whole), *band])


def _picture(one: Found) -> str:
    return f"sixteen-heads-{one.name}.svg"


if __name__ == "__main__":
    sys.exit(main())
