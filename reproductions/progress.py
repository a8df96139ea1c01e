"""A page of progress: what is done, what runs, what waits, and how long it will take."""

from __future__ import annotations

import json
import os
import statistics
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from jobs.run import duration
from reproductions import records
from reproductions.runner import NOW, PAUSE, PID
from reproductions.trial import Trial

SECONDS_A_STEP = 0.2
"""Where no trial of that model and kind is done yet."""


def page(trials: Sequence[Trial], home: Path, folder: Path = records.FOLDER) -> str:
    """The whole page."""
    found = {trial.name: records.found(trial, folder) for trial in trials}
    now = _now(home)
    speeds = _speeds(trials, found)
    left = 0.0
    lines = []
    for trial in trials:
        record = found[trial.name]
        seconds = trial.steps * speeds(trial)
        if record is not None:
            lines.append(f"done      {trial.name}: {_said(record)}, {duration(record['seconds'])}")
            continue
        share = now["done"] / max(1, now["total"]) if now.get("name") == trial.name else 0.0
        left += seconds * (1 - share)
        state = f"{share:4.0%}     " if share else "waiting  "
        lines.append(f"{state} {trial.name}: about {duration(seconds * (1 - share))}")
    n_done = sum(record is not None for record in found.values())
    head = f"{n_done} of {len(trials)} trials are done; about {duration(left)} left. {_running(home, now)}"
    return "\n".join([head, "", *lines])


def _running(home: Path, now: dict[str, Any]) -> str:
    """Whether the runner runs, stands still or is stopped."""
    if not _alive(home / PID):
        return "The runner is stopped."
    if (home / PAUSE).exists():
        return f"It is paused: remove {home / PAUSE}, and it goes on."
    ago = duration(time.time() - now["at"]) if now else "a while"
    return f"It runs; last heard of {ago} ago: {now.get('name', 'starting')}."


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


def _said(record: dict[str, Any]) -> str:
    """The metric on test, with its interval."""
    one = record["final"]["test"]
    return f"{one['metric']} {one['value']:.4g} ({one['low']:.4g} to {one['high']:.4g})"


def _speeds(trials: Sequence[Trial], found: dict[str, dict[str, Any] | None]) -> Any:
    """Seconds a step of a trial, by what those of the same model and kind took."""
    seen: dict[tuple[str, str], list[float]] = {}
    for trial in trials:
        if (record := found[trial.name]) is not None:
            seen.setdefault((trial.model, trial.kind), []).append(record["seconds"] / trial.steps)
    by_model = dict(_means_by_model(seen))

    def speed(trial: Trial) -> float:
        own = seen.get((trial.model, trial.kind))
        return statistics.fmean(own) if own else by_model.get(trial.model, SECONDS_A_STEP)

    return speed


def _means_by_model(seen: dict[tuple[str, str], list[float]]) -> Iterator[tuple[str, float]]:
    for model in {model for model, _ in seen}:
        yield model, statistics.fmean(value for (name, _), values in seen.items() if name == model for value in values)
