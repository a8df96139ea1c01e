"""How a run leaves the machine to a person who waits, and how it notices that it was cancelled."""

from __future__ import annotations

import time

from headscope.runs.run import LONG, Cancelled, Run
from headscope.runs.store import Store

SECONDS_BETWEEN_POLLS = 0.1
SECONDS_BETWEEN_POLLS_STILL = 0.03

YOUNG = 10.0
"""Seconds after which a question is not waited for any more: it is one of the slow ones."""

LONGEST_STILL = 30.0
"""Seconds that a run stands still at a stretch, however many questions come."""

LEAST_WORK = 5.0
"""Seconds that it then works before it stands still again."""


class Preemption:
    """Called between two parts of a run: a Cancelled if nobody wants it any more.

    A long run also stands still while the interactive worker answers a question of somebody who waits. A low priority
    alone gives way on the cores, not in the caches and in the memory.
    """

    def __init__(self, store: Store, run: Run) -> None:
        self.store = store
        self.run = run
        self._looked = 0.0
        self._works_until = 0.0

    def __call__(self) -> None:
        """Looks ten times a second at most; a look opens a file."""
        if time.monotonic() - self._looked < SECONDS_BETWEEN_POLLS:
            return
        self._check_wanted()
        if self.run.lane == LONG and time.monotonic() >= self._works_until:
            self._stand_still()
        self._looked = time.monotonic()

    def _stand_still(self) -> None:
        until = time.monotonic() + LONGEST_STILL
        while self.store.is_asked(YOUNG):
            if time.monotonic() > until:
                self._works_until = time.monotonic() + LEAST_WORK
                return
            time.sleep(SECONDS_BETWEEN_POLLS_STILL)
            self._check_wanted()

    def _check_wanted(self) -> None:
        if not self.store.is_wanted(self.run.id):
            raise Cancelled
