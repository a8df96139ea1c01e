"""A run in words for the report: how it was done, under which circumstances, and what repeats it."""

from __future__ import annotations

import inspect
import shlex
from collections.abc import Mapping
from dataclasses import MISSING, fields
from typing import Any

import headscope
from headscope.runs.kind import Kind, kind_of
from headscope.runs.run import Run
from headscope.web.runs.run_facts import setting_name

INTERVALS = "Intervals are 95 %."
PAIRED = "Two models are compared by a paired test on the same examples; significant means p < 0.01."
SPLITS = {
    "ablations": f"The best head of a layer is chosen on development and reported on test. {INTERVALS} {PAIRED}",
    "breaks": f"Both masks are judged on the same examples. {INTERVALS} {PAIRED}",
    "budget": f"Ranked on calibration, the mask is chosen on the split named and reported on test. {INTERVALS}",
    "dynamics": "Heads are ranked on calibration and each checkpoint is judged on development. No interval is given.",
    "evaluation": INTERVALS,
    "fiak": f"Trained on calibration or the training split, reported on development and test. {INTERVALS} {PAIRED}",
    "finetune": f"Trained on calibration or the training split, stopped by development, reported on test. {INTERVALS} "
    f"{PAIRED}",
    "importance": "The score is the mean over examples; beside it stands its standard error, not an interval.",
    "learn": f"Trained on calibration or the training split, reported on development and test. {INTERVALS} {PAIRED}",
    "roles": "A role needs its threshold and a sign test over examples that accounts for all heads and cases.",
    "speed": "Both models take turns; the spread is that of the turns.",
    "sweep": f"Heads are ranked on calibration, points are judged on the split named. {INTERVALS} {PAIRED}",
}
"""Which examples a kind of run uses for what, and what its intervals are."""


def how_it_was_done(run: Run, methods: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """What the kind of run does, which method it used, and on which examples."""
    what = inspect.getdoc(type(kind_of(run))) or ""
    told = [" ".join(what.partition("\n\n")[0].split()).replace("`", "")]
    method = str(run.spec.get("method"))
    if method in methods:
        known = methods[method]
        told.append(f"{known['title']} ({known['reference']}): {known['about']}")
    return [sentence for sentence in (*told, SPLITS.get(run.kind, "")) if sentence]


def circumstances(run: Run) -> dict[str, str]:
    """What must be known to repeat the run: what was asked, of which model, with which seed and versions."""
    spec = {name: value for name, value in run.spec.items() if value not in ("", None, {}, [])}
    facts = {setting_name(name): _spelt(value) for name, value in spec.items()}
    facts |= {"Run": run.id, "Model fingerprint": run.fingerprint}
    result = run.result or {}
    told = {"Task": "task", "Split": "split", "Examples": "n", "Metric": "metric"}
    facts |= {name: str(result[key]) for name, key in told.items() if isinstance(result.get(key), str | int)}
    if run.record:
        facts |= {"Seed": str(run.record["seed"]), "Device": str(run.record["device"])}
    versions = run.record.get("versions", {})
    return facts | ({"Versions": ", ".join(f"{name} {one}" for name, one in versions.items())} if versions else {})


def repeat_command(kind: Kind) -> str:
    """What repeats a run from a shell; a line of Python where the command line has no command for it."""
    if kind.command:
        return kind.command
    values = {field.name: getattr(kind, field.name) for field in fields(kind)}
    usual = {field.name: _default(field) for field in fields(kind)}
    given = [f"{name}={value!r}" for name, value in values.items() if value != usual[name]]
    name, module = type(kind).__name__, type(kind).__module__
    code = (
        f"from headscope.runs.client import run_here; from headscope.runs.store import Store; "
        f"from {module} import {name}; print(run_here(Store(), {name}({', '.join(given)})).result)"
    )
    return shlex.join(["python", "-c", code])


def version() -> str:
    """The version of Headscope."""
    return str(headscope.__version__)


def _spelt(value: Any) -> str:
    """Lists and settings as people write them."""
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {one}" for name, one in value.items())
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _default(field: Any) -> Any:
    if field.default is not MISSING:
        return field.default
    return field.default_factory() if field.default_factory is not MISSING else MISSING
