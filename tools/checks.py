"""python -m tools.checks: runs every group of checks, prints what each one took, and keeps the tests to a budget.

Processor time hangs less on what else the machine does than wall-clock time, so the budget counts that. It is the time
of all processes that a group starts. On Linux those that outlive their parent are counted too.
"""

from __future__ import annotations

import ctypes
import os
import resource
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
PROGRAMS = Path(sys.executable).parent
BUDGET = 50.0
"""Processor minutes that all tests together may take. Who adds a slow test makes another one faster."""

PR_SET_CHILD_SUBREAPER = 36
SECONDS_TO_END = 20
"""How long the processes that a group leaves behind are waited for."""


@dataclass(frozen=True)
class Group:
    """Commands that belong together; the first word of each is a program of this environment."""

    name: str
    commands: Sequence[Sequence[str]]
    is_test: bool = False


@dataclass(frozen=True)
class Cost:
    """What a group took, in minutes."""

    group: Group
    wall: float
    cpu: float


STATIC = Group(
    "style, types, layers",
    [["ruff", "format", "--check", "."], ["ruff", "check", "."], ["mypy"], ["lint-imports", "--no-logo"]],
)
DOCUMENTS = Group("documents", [["mkdocs", "build", "--strict"], ["python", "-m", "tools.check_docs"]])
TESTS = Group("tests", [["pytest", "-m", "not browser and not long"]], is_test=True)
BROWSER = Group("browser tests", [["pytest", "tests/browser", "-m", "browser and not long"]], is_test=True)
GROUPS = (STATIC, DOCUMENTS, TESTS, BROWSER)

REPEATS = 5
LONG = (
    Group("long tests", [["pytest", "-m", "long"]]),
    Group(f"browser tests, {REPEATS} times", [["pytest", "tests/browser", "-m", "browser"]] * REPEATS),
    Group("planted faults", [["python", "-m", "tools.planted_faults"]]),
)
"""What is too slow for every change; docs/testing.md tells what each covers."""


def main(arguments: Sequence[str]) -> int:
    """Runs the groups until one fails; 0 if all pass within the budget."""
    adopt_orphans()
    is_long = "--long" in arguments
    costs: list[Cost] = []
    for group in LONG if is_long else GROUPS:
        print(f"\n== {group.name}", flush=True)
        passed, cost = run(group)
        costs.append(cost)
        if not passed:
            print(f"\n{table(costs)}\nFailed: {group.name}.", flush=True)
            return 1
    print(f"\n{table(costs)}", flush=True)
    spent = minutes_of_tests(costs)
    if spent > BUDGET and not is_long:
        print(f"The tests took {spent:.1f} processor minutes; at most {BUDGET:.0f} are allowed (docs/testing.md).")
        return 1
    allowed = "" if is_long else f" of {BUDGET:.0f}"
    print(f"Every check passed. The tests took {spent:.1f}{allowed} processor minutes.")
    return 0


def run(group: Group) -> tuple[bool, Cost]:
    """Whether every command of the group passed, and what they took."""
    began, used = time.monotonic(), cpu_of_ended()
    passed = all(_call(command) == 0 for command in group.commands)
    reap_orphans()
    return passed, Cost(group, (time.monotonic() - began) / 60, (cpu_of_ended() - used) / 60)


def _call(command: Sequence[str]) -> int:
    environment = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # each process that a test starts would compile the project again
    return subprocess.call([PROGRAMS / command[0], *command[1:]], cwd=ROOT, env=environment)


def minutes_of_tests(costs: Iterable[Cost]) -> float:
    """Processor minutes of all groups of tests."""
    return sum(cost.cpu for cost in costs if cost.group.is_test)


def table(costs: Iterable[Cost]) -> str:
    """What each group took, a line each."""
    lines = [f"{'minutes':24}{'wall clock':>12}{'processor':>12}"]
    lines += [f"{cost.group.name:24}{cost.wall:12.1f}{cost.cpu:12.1f}" for cost in costs]
    return "\n".join(lines)


def cpu_of_ended() -> float:
    """Processor seconds of all descendants that have ended and were waited for."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def adopt_orphans() -> None:
    """Makes Linux hand descendants without a parent to this process, so that their time is counted."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def reap_orphans() -> None:
    """Waits for descendants that outlived their parents."""
    until = time.monotonic() + SECONDS_TO_END
    with suppress(ChildProcessError):
        while time.monotonic() < until:
            if os.waitpid(-1, os.WNOHANG)[0] == 0:
                time.sleep(0.1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
