"""Which process works on a run, told apart from a later one that got the same number."""

from __future__ import annotations

import os
from dataclasses import dataclass

import psutil


@dataclass(frozen=True, slots=True)
class Identity:
    """A process by its number and the time it started, which no other process of this machine shares."""

    pid: int
    started: float

    @classmethod
    def own(cls) -> Identity:
        """This process."""
        return cls(os.getpid(), psutil.Process().create_time())

    @property
    def alive(self) -> bool:
        """Whether that very process still runs; after a restart of the machine none does."""
        try:
            process = psutil.Process(self.pid)
            same = bool(abs(process.create_time() - self.started) < 1.0)
            return same and bool(process.status() != psutil.STATUS_ZOMBIE)
        except psutil.NoSuchProcess:
            return False

    def __str__(self) -> str:
        return f"{self.pid} {self.started!r}"

    @classmethod
    def parse(cls, text: str) -> Identity:
        """What `str` wrote."""
        pid, started = text.split()
        return cls(int(pid), float(started))
