"""One sentence instead of a traceback: for a part of a page, for one that runs again by itself, and for a click."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any, ParamSpec

import streamlit as st

from headscope.web.page.markdown import plain

EXPECTED = (ValueError, KeyError, OSError)
"""Bad input, what is not there, and a disk or store that cannot be used; the store tells SQLite's errors as OSError."""

REFUSED = "refused"
"""Where a click leaves its sentence for the page that is drawn after it."""

Given = ParamSpec("Given")


@contextmanager
def one_sentence() -> Iterator[None]:
    """Shows bad input, or what the disk or the store cannot do now, as one sentence on the page."""
    try:
        yield
    except EXPECTED as error:
        st.error(plain(sentence(error)))


def told(part: Callable[Given, None]) -> Callable[Given, None]:
    """A part of a page that runs again by itself, with one sentence in its place when it cannot be drawn."""

    @wraps(part)
    def drawn(*given: Given.args, **named: Given.kwargs) -> None:
        with one_sentence():
            part(*given, **named)

    return drawn


def by_click(change: Callable[..., object], *given: Any) -> None:
    """Does what a click asks for; the page says it if that is refused or cannot be done now."""
    try:
        change(*given)
    except EXPECTED as error:
        st.session_state[REFUSED] = sentence(error)


def sentence(error: Exception) -> str:
    """What an expected error says."""
    if isinstance(error, OSError):
        return f"{error.strerror}: {error.filename}" if error.strerror and error.filename else str(error)
    return str(error.args[0] if error.args else error)
