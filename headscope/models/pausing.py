"""Places inside a long computation at which whoever runs it may wait, or leave by an exception."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar


def _go_on() -> None:
    """What is done where nobody says otherwise: nothing."""


_PAUSE: ContextVar[Callable[[], None]] = ContextVar("pause", default=_go_on)


@contextmanager
def pausing(pause: Callable[[], None]) -> Iterator[None]:
    """Calls `pause` wherever work in this thread may be interrupted, while the context lasts."""
    token = _PAUSE.set(pause)
    try:
        yield
    finally:
        _PAUSE.reset(token)


def may_pause() -> None:
    """To be called between two parts of a computation; what comes after must not depend on how long it took."""
    _PAUSE.get()()
