"""Pruning curves and trained models of several runs, ready to be drawn together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from statistics import median
from typing import Any

from headscope.runs.kinds.speed import SpeedRun
from headscope.runs.kinds.sweep import SweepRun
from headscope.runs.run import DONE, Run
from headscope.runs.store import Store
from headscope.web.cards.sweep_card import split_points
from headscope.web.charts.curves import Curve, Point
from headscope.web.charts.metric_text import higher_is_better
from headscope.web.runs.run_facts import spared
from headscope.web.runs.trained_points import is_trained, series_of, split_of, trained_points

BATCH, LENGTH = 16, 128
"""The inputs on which models of a front are timed."""

SHARED = ("task", "data", "columns")
"""What two runs must have been asked alike to be compared, besides model, metric, split and examples."""


@dataclass(frozen=True)
class Compared:
    """Curves of one metric: those of the runs, the random orders beside them, and the unpruned model."""

    runs: tuple[Run, ...]
    curves: tuple[Curve, ...]
    random: tuple[tuple[Point, ...], ...]
    full: Point | None
    left_out: tuple[str, ...]
    split: str = ""

    @property
    def metric(self) -> str:
        """What all of them measure."""
        return str(self.curves[0].points[0]["metric"]) if self.curves else ""

    @property
    def higher_is_better(self) -> bool:
        """Which way is up, whether or not a run is done."""
        return higher_is_better(self.metric)

    @property
    def source(self) -> str:
        """The split and the sample that every point stands for."""
        return f"{self.split}, {self.curves[0].points[0]['n']} examples" if self.curves else ""

    @property
    def points(self) -> list[Point]:
        """Those of all curves."""
        return [point for curve in self.curves for point in curve.points]

    @property
    def finding(self) -> str:
        """What the curves say together."""
        n, which = max((spared([dict(point) for point in curve.points]), curve.name) for curve in self.curves)
        if not n:
            return "No head can go without a significant loss"
        beside = f" ({which})" if len(self.curves) > 1 else ""
        return f"{n} heads can go before anything is significantly worse{beside}"


def front_title(n: int) -> str:
    """What a front says."""
    named = "1 model is" if n == 1 else f"{n} models are"
    return f"{named} worth keeping: no other is both better and smaller"


def has_curve(run: Run) -> bool:
    """Whether a run leads to points on a pruning curve of its own."""
    return run.kind == SweepRun.key


@dataclass(frozen=True)
class _Found:
    """A run with what it has to draw."""

    run: Run
    points: Sequence[Point]
    random: Sequence[Sequence[Point]] = ()
    full: Point | None = None


def compared(store: Store, runs: Sequence[Run]) -> Compared:
    """The curves of runs, and trained models beside them, joined where they come of the same scheme.

    All must share model, metric, split and examples with the first curve, or with the first training where there is no
    curve; the others are named and left out.
    """
    swept = {run.id: split_points(store.points(run.id)) for run in runs if has_curve(run)}
    split = _split(runs, swept)
    found = [_found(run, swept, split) for run in runs]
    drawable = [one for one in found if one.points]
    first = next((one for one in drawable if has_curve(one.run)), drawable[0] if drawable else None)
    kept = [one for one in drawable if first is not None and _alike(first, one)]
    left_out = [
        f"{one.run.title}: {'another model, metric, split or sample' if one.points else _nothing(one.run, split)}"
        for one in found
        if one not in kept
    ]
    return Compared(
        tuple(one.run for one in kept),
        (*_curves(kept), *_trained(kept)),
        next((tuple(tuple(order) for order in one.random) for one in kept if one.random), ()),
        next((one.full for one in kept if one.full), None),
        tuple(left_out),
        split,
    )


def _split(runs: Sequence[Run], swept: dict[str, Any]) -> str:
    """The split of the first curve, or that on which the first training reports."""
    own = [run.spec["split"] for run in runs if run.id in swept and swept[run.id][0]]
    return next((split for split in (*own, *map(split_of, runs)) if split), "")


def _found(run: Run, swept: dict[str, Any], split: str) -> _Found:
    if run.id in swept:
        order, random = swept[run.id]
        return _Found(run, order, random, next((point for point in order if not point["removed"]), None))
    trained = trained_points(run, split)
    return _Found(run, [trained[1]], full=trained[0]) if trained else _Found(run, [])


def _nothing(run: Run, split: str) -> str:
    if is_trained(run) and run.state == DONE:
        return f"it reports nothing on {split} that compares"
    return "it has no curve" if not is_trained(run) else "it is not done"


def _alike(first: _Found, other: _Found) -> bool:
    one, two = first.run, other.run
    asked = all(one.spec[name] == two.spec[name] for name in SHARED) and one.fingerprint == two.fingerprint
    both_swept = has_curve(one) and has_curve(two)
    sample = not both_swept or all(one.spec[name] == two.spec[name] for name in ("split", "n"))
    seen = all(first.points[0][name] == other.points[0][name] for name in ("metric", "n"))
    return asked and sample and seen


def _curves(kept: Sequence[_Found]) -> list[Curve]:
    """A line a sweep; plotly reads markup in names."""
    return [Curve(escape(one.run.title, quote=False), one.points) for one in kept if has_curve(one.run)]


def _trained(kept: Sequence[_Found]) -> list[Curve]:
    """A line a scheme, from few heads removed to many; one that stands alone has the name of its run."""
    series: dict[str, list[_Found]] = {}
    for one in kept:
        if not has_curve(one.run):
            series.setdefault(series_of(one.run)[0], []).append(one)
    curves = []
    for members in series.values():
        name = members[0].run.title if len(members) == 1 else series_of(members[0].run)[1]
        points = sorted((one.points[0] for one in members), key=lambda point: int(point["removed"]))
        curves.append(Curve(escape(name, quote=False), points, trained=True))
    return curves


def timing_of(model: str, mask: str) -> SpeedRun:
    """The run that times the model of a point."""
    return SpeedRun(model, mask, batches=[BATCH], lengths=[LENGTH])


def timed(store: Store, model: str, curves: Sequence[Curve]) -> tuple[Curve, ...]:
    """The points of curves whose models were timed, with their seconds.

    The unpruned model is timed beside each of them: its seconds are the median of all those times.
    """
    masks = {point["mask"] for curve in curves for point in curve.points if point.get("mask")}
    timings = {mask: found for mask in masks if (found := _timing(store, model, mask)) is not None}
    seconds = {mask: float(found["smaller"]["median"]) for mask, found in timings.items()}
    if timings:
        seconds[""] = median(float(found["dense"]["median"]) for found in timings.values())
    return tuple(
        Curve(
            curve.name,
            [{**point, "seconds": seconds[point["mask"]]} for point in curve.points if point.get("mask") in seconds],
            curve.trained,
        )
        for curve in curves
    )


def _timing(store: Store, model: str, mask: str) -> dict[str, Any] | None:
    try:
        run = store.get(timing_of(model, mask).as_run(store.folder).id)
    except KeyError:
        return None
    return dict(run.result["timings"][0]) if run.state == DONE and run.result else None
