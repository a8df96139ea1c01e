"""What trainings left in the end as points beside pruning curves: the same metric on the same examples."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from headscope.runs.run import DONE, Run
from headscope.web.charts.metric_text import higher_is_better

SIGNIFICANT = 0.01
"""The p-value below which a curve, too, calls a point worse."""

SPLITS = ("development", "test")
"""Where trainings report, the one that curves usually show first."""

Point = dict[str, Any]
Report = tuple[Mapping[str, Any], Mapping[str, Any], Mapping[str, Any]]
"""The unpruned model, the trained one, and the paired comparison of both."""


def is_trained(run: Run) -> bool:
    """Whether a run ends with a smaller model that was trained."""
    return run.kind in REPORTS


def trained_points(run: Run, split: str) -> tuple[Point, Point] | None:
    """The unpruned model and the trained one on a split; None while it is not done or where it does not report."""
    if run.state != DONE or not run.result or run.kind not in REPORTS:
        return None
    try:
        full, now, change = REPORTS[run.kind](run.result, split)
        mask, sizes = _left(run)
    except KeyError:  # an older version stored less
        return None
    fallen = change["difference"] < 0 if higher_is_better(now["metric"]) else change["difference"] > 0
    before = {**full, "removed": 0, "p": None, "worse": False, **({"mask": ""} if sizes else {})}
    after = {**now, "removed": len(mask.split()), "p": change["p_value"]}
    worse = {"worse": bool(fallen and change["p_value"] < SIGNIFICANT)}
    if not sizes:
        return before, after | worse
    before["parameters"] = sizes["parameters_dense"]
    return before, {**after, **worse, "mask": mask, "parameters": sizes["parameters"]}


def split_of(run: Run) -> str:
    """The split on which the points of a run stand unless another is asked for; empty if there is none."""
    return next((split for split in SPLITS if trained_points(run, split)), "")


def series_of(run: Run) -> tuple[str, str]:
    """What points are joined with each other, and the name of the line; a prior's share is no place on a line."""
    spec = run.spec
    if run.kind == "learn":
        key = " ".join(part for part in (spec["gates"], spec["banks"], spec["weights"]) if part)
        return f"learn {key}", f"Learned pruning of {run.model}: {key}"
    if run.kind == "finetune":
        return f"finetune {spec['start']}", f"Fine-tuning of {run.model}, start {spec['start']}"
    return run.id, run.title


def _left(run: Run) -> tuple[str, Mapping[str, int]]:
    """The heads that are gone, and what is known of the sizes."""
    result: Mapping[str, Any] = run.result or {}
    mask = result["mask"] if run.kind == "learn" else run.spec["mask"]
    return mask, {name: result[name] for name in ("parameters", "parameters_dense") if name in result}


def _learn(result: Mapping[str, Any], split: str) -> Report:
    report = result["report"][split]
    return report["before"], report["after"], report["change"]


def _finetune(result: Mapping[str, Any], split: str) -> Report:
    report = result["report"]
    if report["split"] != split:
        raise KeyError(split)
    return report["unpruned"], report["tuned"], report["loss"]


def _fiak(result: Mapping[str, Any], split: str) -> Report:
    """Where heads went first, the model without them was the dense one: such a run says nothing about all heads."""
    if result["mask"]:
        raise KeyError("mask")
    measured = result["measured"]
    return measured["dense"][split], measured["tuned"][split], result["change"][split]


REPORTS: dict[str, Callable[[Mapping[str, Any], str], Report]] = {"learn": _learn, "finetune": _finetune, "fiak": _fiak}
