"""On whose behalf this thread asks for runs; None where there are no users, and for the machine's own commands."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_OWNER: ContextVar[str | None] = ContextVar("owner", default=None)


def owner() -> str | None:
    """Whose runs are looked for."""
    return _OWNER.get()


def set_owner(name: str | None) -> None:
    """Says for whom this thread asks from now on."""
    _OWNER.set(name)


@contextmanager
def acting_for(name: str | None) -> Iterator[None]:
    """Asks for somebody for a while."""
    before = _OWNER.set(name)
    try:
        yield
    finally:
        _OWNER.reset(before)
