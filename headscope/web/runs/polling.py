"""How often open pages look by themselves for what is new: the more sessions there are, the less often each."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import wraps
from pathlib import Path
from typing import ParamSpec
from uuid import uuid4

import streamlit as st

SESSION = "session-name"
EASY = 5
"""Sessions up to which each looks as often as it would alone. One process draws the pages of all of them."""

SECONDS_HERE = 60.0
"""For so long after its last look a session counts as open."""

Given = ParamSpec("Given")


@dataclass
class Presence:
    """When each session was last heard of."""

    heard: dict[str, float] = field(default_factory=dict)

    def hear(self, session: str, now: float) -> int:
        """Notes that a session is there; gives how many were heard of in the last minute."""
        self.heard[session] = now
        for one, when in list(self.heard.items()):  # a copy: every session has a thread of its own
            if now - when > SECONDS_HERE:
                self.heard.pop(one, None)
        return len(self.heard)


def poll_every(seconds: float) -> Callable[[Callable[Given, None]], Callable[Given, None]]:
    """A part of a page that runs again by itself after so many seconds, or more where many pages are open."""

    def again(part: Callable[Given, None]) -> Callable[Given, None]:
        @wraps(part)
        def drawn(*given: Given.args, **named: Given.kwargs) -> None:
            st.fragment(part, run_every=paced(seconds))(*given, **named)

        return drawn

    return again


def paced(seconds: float) -> float:
    """The seconds between two looks of a page that would look so often if it were alone."""
    return stretched(seconds, sessions())


def stretched(seconds: float, n: int) -> float:
    """So many seconds for few sessions; for many as many more as there are more of them."""
    return seconds * max(1.0, n / EASY)


def sessions() -> int:
    """How many sessions are open, with this one, which thereby says that it is."""
    name = st.session_state.setdefault(SESSION, uuid4().hex)
    return _presence().hear(name, time.monotonic())


@st.cache_resource(show_spinner=False)
def _presence() -> Presence:
    return Presence()


_component = st.components.v2.component(
    "refresh_timer", js=Path(__file__).with_suffix(".js").read_text(encoding="utf-8")
)


def refresh_timer(seconds: float, *, key: str) -> None:
    """Has this part of the page run again after so many seconds, or later where many pages are open."""
    turn = {"seconds": paced(seconds), "turn": time.monotonic_ns()}
    _component(key=key, data=turn, height=0, on_due_change=lambda: None)
