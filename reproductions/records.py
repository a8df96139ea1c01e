"""Records of finished trials: one JSON file each, with everything that a table or a paired test needs."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headscope.models.loading.fingerprint import fingerprint
from headscope.runs.data_dir import write_whole
from headscope.runs.kind import kind_of
from headscope.runs.run import Run
from reproductions.trial import Trial

if TYPE_CHECKING:
    from headscope.tasks.task import Outcomes

FOLDER = Path(__file__).parents[1] / "docs" / "reproductions" / "records"
REPORTED = "test"
JUDGED = ("development", REPORTED)
DIGITS = 6

CURVE = ("phase", "step", "loss", "value", "n_kept", "penalty")
"""What of a point is told again, where it has it."""

HEADS = ("mask", "removed", "scores", "parameters", "parameters_dense", "savings")
"""What of a result is told again, where it has it."""


def path_of(trial: Trial, folder: Path = FOLDER) -> Path:
    """Where the record of a trial lies."""
    return folder / f"{trial.name}.json"


def found(trial: Trial, folder: Path = FOLDER) -> dict[str, Any] | None:
    """The record of a trial; None if there is none, or one of another model or of other settings."""
    try:
        record: dict[str, Any] = json.loads(path_of(trial, folder).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    declared = json.loads(json.dumps(trial.to_json()))
    same = record.get("fingerprint") == fingerprint(trial.model) and record.get("trial") == declared
    return record if same else None


def write(trial: Trial, record: Mapping[str, Any], folder: Path = FOLDER) -> None:
    """Writes a record as a whole, a line for each of its parts."""
    folder.mkdir(parents=True, exist_ok=True)
    parts = (f"{json.dumps(name)}: {json.dumps(value, ensure_ascii=False)}" for name, value in record.items())
    write_whole(path_of(trial, folder), ("{\n" + ",\n".join(parts) + "\n}\n").encode())


def record_of(trial: Trial, run: Run, points: Iterable[Mapping[str, Any]], commit: str) -> dict[str, Any]:
    """Everything that is kept of a finished run."""
    result = run.result or {}
    return {
        "name": trial.name,
        "trial": trial.to_json(),
        "fingerprint": run.fingerprint,
        "commit": commit,
        "versions": run.record.get("versions", {}),
        "run": run.id,
        "spec": run.spec,
        "command": kind_of(run).command,
        "seconds": round(run.seconds(0.0)),
        "metric": result["metric"],
        "higher_is_better": result["higher_is_better"],
        "stages": stages(result),
        **{name: result[name] for name in HEADS if name in result},
        **judged(run),
        "curve": curve(points),
    }


def stages(result: Mapping[str, Any]) -> dict[str, Any]:
    """The estimates of the run itself, by stage."""
    told = result.get("measured") or result.get("report") or {}
    return {name: value for name, value in told.items() if isinstance(value, dict)}


def judged(run: Run) -> dict[str, Any]:
    """The model that came of the run on all examples: estimates on both splits, and every example of test."""
    from headscope.pruning.fiak.model_folder import load_model
    from headscope.tasks.task_selection import chosen_task

    task, _ = chosen_task(load_model(run.model), "", "", {})
    final = load_model(str(run.folder / (run.result or {})["folder"]))
    outcomes = {split: task.outcomes(final, split) for split in JUDGED}
    return {
        "final": {split: asdict(task.metrics[0].estimate(one)) for split, one in outcomes.items()},
        "examples": columns(outcomes[REPORTED]),
    }


def columns(outcomes: Outcomes) -> dict[str, list[float]]:
    """What a paired comparison needs, example by example, in the order of the split."""
    named = dict(outcomes.columns)
    if "scores" in named:
        named = {"correct": named["scores"].argmax(axis=-1) == named["gold"]}
    elif "predicted" in named:
        named = {"correct": named["predicted"] == named["gold"]}
    return {name: [_short(value) for value in column.tolist()] for name, column in named.items()}


def curve(points: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Loss and metric wherever the model was judged; the loss is the mean of what was told since."""
    told: list[dict[str, Any]] = []
    losses: list[float] = []
    for point in points:
        if point.get("loss") is not None:
            losses.append(point["loss"])
        if point.get("value") is None:
            continue
        mean = {"loss": round(math.fsum(losses) / len(losses), DIGITS)} if losses else {}
        told.append({name: point[name] for name in CURVE if point.get(name) is not None} | mean)
        losses = []
    return told


def _short(value: Any) -> Any:
    """A number that is no longer than it must be."""
    if isinstance(value, bool | int):
        return int(value)
    if isinstance(value, float):
        return int(value) if value.is_integer() else round(value, DIGITS)
    return value
