"""Which process works on a run, told apart from a later one that got the same number."""

from __future__ import annotations

import os
import site
import sys
from dataclasses import dataclass
from pathlib import Path

import psutil

BOOT = Path("/proc/sys/kernel/random/boot_id")
"""Where Linux tells one start of the machine from another."""

PLACE = Path(__file__).parents[3]
"""The folder in which Python finds this package."""


def python_command(module: str) -> list[str]:
    """What runs a module in another process; `-P` keeps what a user has in the current folder out of it."""
    return [sys.executable, "-P", "-m", module]


def python_environment() -> dict[str, str]:
    """The variables for such a process: from a checkout that is not installed it finds the package by PYTHONPATH."""
    installed = [*site.getsitepackages(), site.getusersitepackages()]
    if str(PLACE) in installed:
        return dict(os.environ)
    return os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, [str(PLACE), os.environ.get("PYTHONPATH", "")]))}


@dataclass(frozen=True, slots=True)
class Identity:
    """A process by its number and the time it started, which no other process of this machine shares.

    Where the system tells it, that is the time since the machine started, which no change of the clock touches.
    """

    pid: int
    started: float
    boot: str = ""

    @classmethod
    def of(cls, pid: int) -> Identity:
        """The process that has this number now; a psutil.NoSuchProcess if there is none."""
        try:
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            return cls(pid, int(fields[19]) / os.sysconf("SC_CLK_TCK"), BOOT.read_text().strip())
        except (OSError, IndexError, ValueError):
            return cls(pid, float(psutil.Process(pid).create_time()))

    @classmethod
    def own(cls) -> Identity:
        """This process."""
        return cls.of(os.getpid())

    @property
    def alive(self) -> bool:
        """Whether that very process still runs; after a restart of the machine none does."""
        try:
            now = Identity.of(self.pid)
            same = now.boot == self.boot and abs(now.started - self.started) < 1.0
            return same and bool(psutil.Process(self.pid).status() != psutil.STATUS_ZOMBIE)
        except psutil.NoSuchProcess:
            return False

    def __str__(self) -> str:
        return f"{self.pid} {self.started!r} {self.boot}".rstrip()

    @classmethod
    def parse(cls, text: str) -> Identity:
        """What `str` wrote."""
        pid, started, *boot = text.split()
        return cls(int(pid), float(started), *boot[:1])
