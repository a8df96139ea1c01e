"""A page of progress: what is done, what runs, what waits, and how long it will take."""

from __future__ import annotations

import json
import os
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from headscope.runs.run import duration
from reproductions import records
from reproductions.runner import NOW, PAUSE, PID
from reproductions.trial import Trial

SECONDS_A_STEP = 0.2
"""Where no trial of that model is done yet."""

Record = dict[str, Any]
Found = Mapping[str, Record | None]


def page(trials: Sequence[Trial], home: Path, folder: Path = records.FOLDER) -> str:
    """The whole page; what waits is told paper by paper."""
    found = {trial.name: records.found(trial, folder) for trial in trials}
    now, speed = _now(home), _speeds(trials, found)
    running = [trial for trial in trials if trial.name == now.get("name") and found[trial.name] is None]
    waiting = [trial for trial in trials if found[trial.name] is None and trial not in running]
    share = now.get("done", 0) / max(1, now.get("total", 0))
    left = sum(trial.steps * speed(trial) for trial in waiting)
    left += sum(trial.steps * speed(trial) * (1 - share) for trial in running)
    done = [record for record in found.values() if record is not None]
    return "\n".join([
        f"{len(done)} of {len(trials)} trials are done; about {duration(left)} left. {_state(home, now)}",
        *(f"done     {record['name']}: {_said(record)}, in {duration(record['seconds'])}" for record in done),
        *(f"running  {trial.name}: {share:.0%}" for trial in running),
        *_waiting(waiting, speed),
    ])  # fmt: skip


def _waiting(waiting: Sequence[Trial], speed: Callable[[Trial], float]) -> Iterator[str]:
    """A line a paper and model, in the order of what comes first."""
    places = {(trial.paper, trial.model): place for place, trial in reversed(list(enumerate(waiting)))}
    ordered = sorted(waiting, key=lambda trial: places[trial.paper, trial.model])
    for (paper, model), group in groupby(ordered, key=lambda trial: (trial.paper, trial.model)):
        trials = list(group)
        seconds = sum(trial.steps * speed(trial) for trial in trials)
        yield f"waiting  {paper}.{model}: {len(trials)} trials, about {duration(seconds)}"


def _state(home: Path, now: Mapping[str, Any]) -> str:
    """Whether the runner runs, stands still or is stopped."""
    if not _alive(home / PID):
        return "The runner is stopped."
    if (home / PAUSE).exists():
        still = "It stands still" if now.get("paused") else "It will stand still after its present step"
        return f"{still}: remove {home / PAUSE}, and it goes on."
    return f"It runs, last heard of {duration(time.time() - now['at'])} ago." if now else "It starts."


def _alive(path: Path) -> bool:
    try:
        os.kill(int(path.read_text(encoding="utf-8")), 0)
    except (OSError, ValueError):
        return False
    return True


def _now(home: Path) -> dict[str, Any]:
    try:
        told: dict[str, Any] = json.loads((home / NOW).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return told


def _said(record: Record) -> str:
    """The metric on test, with its interval."""
    one = record["final"]["test"]
    return f"{one['metric']} {one['value']:.4g} ({one['low']:.4g} to {one['high']:.4g})"


def _speeds(trials: Sequence[Trial], found: Found) -> Callable[[Trial], float]:
    """Seconds a step of a trial, by what those of the same model took."""
    seen: dict[str, list[float]] = {}
    for trial in trials:
        if (record := found[trial.name]) is not None:
            seen.setdefault(trial.model, []).append(record["seconds"] / trial.steps)
    means = {model: statistics.fmean(values) for model, values in seen.items()}
    return lambda trial: means.get(trial.model, SECONDS_A_STEP)
