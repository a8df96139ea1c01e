"""Slows down whoever guesses passwords: after a few wrong tries each next one has to wait longer."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable

FREE_TRIES = 5
LONGEST_WAIT = 300.0
MOST_REMEMBERED = 10_000


class Tries:
    """Wrong tries by whatever names the one who tries: an address, a user's name."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.clock = clock
        self._wrong: OrderedDict[str, tuple[int, float]] = OrderedDict()
        self._lock = threading.Lock()

    def seconds_to_wait(self, *keys: str) -> float:
        """How long all of them have to wait before the next try; 0 if they need not."""
        with self._lock:
            return max(self._left(key) for key in keys)

    def wrong(self, *keys: str) -> None:
        """Counts a wrong try against each."""
        with self._lock:
            for key in keys:
                n, _ = self._wrong.pop(key, (0, 0.0))
                self._wrong[key] = (n + 1, self.clock())
            while len(self._wrong) > MOST_REMEMBERED:
                self._wrong.popitem(last=False)

    def right(self, *keys: str) -> None:
        """Forgets the wrong tries of each."""
        with self._lock:
            for key in keys:
                self._wrong.pop(key, None)

    def _left(self, key: str) -> float:
        n, at = self._wrong.get(key, (0, 0.0))
        wait = min(LONGEST_WAIT, 2.0 ** min(n - FREE_TRIES, 20)) if n >= FREE_TRIES else 0.0
        return max(0.0, at + wait - self.clock())
