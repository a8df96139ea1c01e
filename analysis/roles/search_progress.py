"""How far the search for roles is: its parts are generators, so that a run can be stopped between two steps."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import TypeVar

Made = TypeVar("Made")


@dataclass(frozen=True)
class Progress:
    """How many readings of how many are done."""

    done: int
    total: int


Progressing = Generator[Progress, None, Made]
"""Tells how far it is, and returns what it made."""


def at_once(steps: Progressing[Made]) -> Made:
    """What the steps return, without a stop between them."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            made: Made = end.value
            return made
