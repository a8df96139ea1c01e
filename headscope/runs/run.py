"""A run as a frozen record, and the states it goes through."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

QUEUED, RUNNING, DONE, CANCELLED, FAILED, STOPPED = "queued", "running", "done", "cancelled", "failed", "stopped"
STATES = (QUEUED, RUNNING, DONE, CANCELLED, FAILED, STOPPED)
WAITING = (QUEUED, RUNNING)
"""States in which a worker still has something to do."""

RESUMABLE = (CANCELLED, FAILED, STOPPED)
"""States from which a run goes on with the points it has; `stopped` is a full disk or a lost machine."""

QUERY, SHORT, LONG = "question", "short", "long"
SERVED = {"interactive": (QUERY, SHORT), "batch": (LONG,)}
"""Which worker serves which lanes: the interactive one answers queries first, even between two steps of a short run."""


class Cancelled(Exception):  # noqa: N818 - it is no error of anybody's
    """Somebody cancelled a run while it waited for others."""


@dataclass(frozen=True)
class Run:
    """What is known of a run: what was asked, under which circumstances it ran, how far it is, what came of it.

    The same kind, spec and model fingerprint have the same `id`. `record` holds the versions, the device and the seed,
    as they were when the run began. `begun` is how much was done when it was last taken up. `owner` is who asked for
    it; empty where nobody signs in. One whose row in the store cannot be read is `broken`.
    """

    id: str
    kind: str
    title: str
    model: str
    fingerprint: str
    spec: dict[str, Any]
    lane: str
    state: str
    created: float
    started: float | None
    finished: float | None
    begun: int
    done: int
    total: int
    message: str
    record: dict[str, Any]
    result: dict[str, Any] | None
    folder: Path
    owner: str = ""
    broken: bool = False

    @property
    def ended(self) -> bool:
        """Whether nothing more will happen by itself."""
        return self.state not in WAITING

    @property
    def found(self) -> dict[str, Any]:
        """The result of a run that is done."""
        if self.result is None:
            raise ValueError(f"{self.title} has no result: it is {self.state}")
        return self.result

    @property
    def share(self) -> float:
        """How much of it is done, from 0 to 1."""
        return 1.0 if self.state == DONE else min(1.0, self.done / self.total) if self.total else 0.0

    @property
    def lost_file(self) -> str:
        """The name of the file beside its result that is gone from the disk; empty if there is none or it is there."""
        name = str((self.result or {}).get("file", ""))
        return name if name and not (self.folder / name).is_file() else ""

    def seconds(self, now: float) -> float:
        """How long it ran, or runs by now."""
        return 0.0 if self.started is None else max(0.0, (self.finished or now) - self.started)  # clocks go back

    def seconds_left(self, now: float) -> float | None:
        """How long the rest will take at the speed so far; None while nobody can tell."""
        if self.state != RUNNING or not self.begun < self.done < self.total:
            return None
        return self.seconds(now) * (self.total - self.done) / (self.done - self.begun)


def progress_line(run: Run, now: float) -> str:
    """What a run is doing, how far it is, and how long it will take."""
    if run.state == QUEUED:
        return f"{run.title}: waiting; a worker starts or is busy"
    parts = [run.message or run.title]
    if run.total:
        parts.append(f"{run.done} of {run.total}")
    left = run.seconds_left(now)
    if left is not None:
        parts.append(f"about {duration(left)} left")
    return " · ".join(parts)


def duration(seconds: float) -> str:
    """Seconds as people say them."""
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    return f"{round(seconds / 60)} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
