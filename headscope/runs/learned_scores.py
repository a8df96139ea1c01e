"""Scores that come from a run of another kind: an importance method that needs a run reads them from the last one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headscope.runs.policy.owner import owner
from headscope.runs.run import DONE, Run
from headscope.runs.store import Store

Scores = dict[str, float]
JUDGED_BY: dict[str, Any] = {"task": "", "data": "", "columns": {}}
"""The fields of a run that say what the model is judged by, with their usual values."""

WIDTHS_OF_INTERVAL = 2 * 1.96
"""Standard errors that a 95 % interval is wide."""


@dataclass(frozen=True)
class Source:
    """The kind of run that gives a method its scores, which of them fit, and how a score a head is read from one."""

    kind: str
    named: str
    split: str
    fits: Callable[[Run], bool]
    scores: Callable[[Run], Scores]
    highest: Callable[[Scores], float] = lambda found: max(found.values())
    errors: Callable[[Run], Scores] = lambda _: {}


def _gates(*schemes: str) -> Callable[[Run], bool]:
    return lambda run: run.spec["gates"] in schemes


def _result(run: Run) -> dict[str, Any]:
    return run.result or {}


def _metric_lost(run: Run) -> Scores:
    """What the metric loses without each head; higher is more important, whichever way the metric goes."""
    sign = -1.0 if _result(run)["higher_is_better"] else 1.0
    return {row["head"]: sign * row["difference"] for row in _result(run)["alone"]}


def _metric_errors(run: Run) -> Scores:
    return {row["head"]: (row["high"] - row["low"]) / WIDTHS_OF_INTERVAL for row in _result(run)["alone"]}


SOURCES = {
    "l0": Source(
        "learn", "L0 or layer-wise gates", "calibration", _gates("l0", "layerwise"), lambda run: _result(run)["scores"],
        lambda _: 1.0,  # P(open) is at most 1, which is what a head without a gate has
    ),
    "subset": Source(
        "learn", "subset gates", "calibration", _gates("dsp", "dsp-ste"), lambda run: _result(run)["scores"]
    ),
    "fiak": Source(
        "fiak", "FiAK priors", "calibration", lambda run: run.spec["by"] == "prior", lambda run: _result(run)["heads"]
    ),
    "metric": Source("ablations", "ablations", "development", lambda _: True, _metric_lost, errors=_metric_errors),
}  # fmt: skip


def newest(folder: Path, fingerprint: str, method: str, judged: Mapping[str, Any]) -> str:
    """The id of the last finished run, of those of the asking user, that can give a model its scores, or nothing.

    `judged` holds the fields of a run that say what the model is judged by: a run on another task or on other data
    learned something else.
    """
    source = SOURCES[method]
    runs = (run for run in Store(folder, owner()).runs([DONE], source.kind) if run.fingerprint == fingerprint)
    return next((run.id for run in runs if source.fits(run) and _is_by(run, judged)), "")


def judged_in(spec: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a run that say what the model is judged by."""
    return {name: spec.get(name, usual) for name, usual in JUDGED_BY.items()}


def scores_of(run: Run, method: str, heads: list[str], gone: set[str]) -> Scores:
    """The score of every head that the run can tell of: one that is gone, from the model or in the run, has 0."""
    found = SOURCES[method].scores(run)
    zero = gone | set(run.spec.get("mask", "").replace(",", " ").split())
    return {head: found.get(head, 0.0) for head in heads if head in found or head in zero}


def order_of(folder: Path, run_id: str, method: str, heads: list[str], gone: set[str]) -> Scores:
    """A number for every head that says how long it stays: the scores, and the highest where the run gave none.

    A head without a gate or a prior was never a candidate, so it goes last.
    """
    run = _read(folder, run_id, method, heads)
    found = scores_of(run, method, heads, gone)
    highest = SOURCES[method].highest(found)
    return {head: found.get(head, highest) for head in heads}


def result_of(folder: Path, run_id: str, method: str, heads: list[str], gone: set[str]) -> dict[str, Any]:
    """What a run of importance gives whose scores are those of the run of that id."""
    run, source = _read(folder, run_id, method, heads), SOURCES[method]
    found, scores = _result(run), scores_of(run, method, heads, gone)
    return {
        "method": method,
        "task": found["task"],
        "split": found.get("split", source.split),
        "n": found.get("n") or _n_judged(found),
        "scores": scores,
        "errors": source.errors(run),
        "unscored": [head for head in heads if head not in scores],
        "balance": {},
        "stability": None,
        "skipped": [],
        "run": run_id,
    }


def _read(folder: Path, run_id: str, method: str, heads: list[str]) -> Run:
    """The run of that id; a ValueError if it cannot give these heads the scores of the method."""
    run, source = Store(folder, owner()).get(run_id), SOURCES[method]
    if run.state != DONE or run.kind != source.kind or not source.fits(run):
        raise ValueError(f"the run {run_id} is {run.state}: {run.title}; a finished run of {source.named} is needed")
    foreign = source.scores(run).keys() - set(heads)
    if foreign:
        raise ValueError(f"the run {run_id} scores {min(foreign)}, which this model has not: {run.title}")
    return run


def _is_by(run: Run, judged: Mapping[str, Any]) -> bool:
    return judged_in(run.spec) == judged_in(judged)


def _n_judged(found: dict[str, Any]) -> int:
    """The examples behind a result that does not count them itself."""
    rows = found.get("alone") or []
    return int(rows[0]["n"]) if rows else 0
