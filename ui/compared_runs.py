"""Pruning curves of several runs, ready to be drawn together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from jobs.kinds.speed import SpeedRun
from jobs.kinds.sweep import SweepRun
from jobs.run import DONE, Run
from jobs.store import Store
from ui.curves import Curve, Point
from ui.sweep_card import split_points

BATCH, LENGTH = 16, 128
"""The inputs on which models of a front are timed."""


@dataclass(frozen=True)
class Compared:
    """Curves of one metric: those of the runs, the random orders beside them, and the unpruned model."""

    runs: tuple[Run, ...]
    curves: tuple[Curve, ...]
    random: tuple[tuple[Point, ...], ...]
    full: Point | None
    left_out: tuple[str, ...]

    @property
    def metric(self) -> str:
        """What all of them measure."""
        return str(self.curves[0].points[0]["metric"]) if self.curves else ""


def has_curve(run: Run) -> bool:
    """Whether a run leads to points on a pruning curve."""
    return run.kind == SweepRun.key


def compared(store: Store, runs: Sequence[Run]) -> Compared:
    """The curves of runs, which must share model and metric with the first; the others are named and left out."""
    kept: list[Run] = []
    curves: list[Curve] = []
    random: list[tuple[Point, ...]] = []
    left_out: list[str] = []
    full: Point | None = None
    for run in runs:
        order, beside = split_points(store.points(run.id)) if has_curve(run) else ([], [])
        if not order:
            left_out.append(f"{run.title}: it has no curve")
        elif kept and not _alike(kept[0], curves[0], run, order):
            left_out.append(f"{run.title}: another model, metric or split")
        else:
            kept.append(run)
            curves.append(Curve(escape(run.title, quote=False), order))  # plotly reads markup in names
            full = full or next((point for point in order if not point["removed"]), None)
            random = random or [tuple(one) for one in beside]
    return Compared(tuple(kept), tuple(curves), tuple(random), full, tuple(left_out))


def _alike(first: Run, curve: Curve, run: Run, order: Sequence[Point]) -> bool:
    same = all(first.spec[name] == run.spec[name] for name in ("split", "n", "task", "data"))
    return same and first.fingerprint == run.fingerprint and curve.points[0]["metric"] == order[0]["metric"]


def timing_of(model: str, mask: str) -> SpeedRun:
    """The run that times the model of a point."""
    return SpeedRun(model, mask, batches=[BATCH], lengths=[LENGTH])


def timed(store: Store, model: str, curve: Curve) -> Curve:
    """The points of a curve whose models were timed, with their seconds; the unpruned one is timed beside each."""
    points = []
    for point in curve.points:
        seconds = _seconds(store, model, point)
        if seconds is not None:
            points.append({**point, "seconds": seconds})
    return Curve(curve.name, points, curve.trained)


def _seconds(store: Store, model: str, point: Point) -> float | None:
    if not point["mask"]:
        return None
    try:
        run = store.get(timing_of(model, point["mask"]).as_run(store.folder).id)
    except KeyError:
        return None
    return float(run.result["timings"][0]["smaller"]["median"]) if run.state == DONE and run.result else None
