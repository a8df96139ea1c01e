"""A clock in the browser, for a part of a page that waits for something.

Streamlit's own `run_every` goes on until the whole page is drawn anew. This clock rings once for every drawing of the
part it stands in, so it ends with the first drawing that leaves it out. Where no drawing follows, it rings again.
"""

from __future__ import annotations

import time
from pathlib import Path

import streamlit as st

from ui.pace import paced

_component = st.components.v2.component("wake", js=Path(__file__).with_suffix(".js").read_text(encoding="utf-8"))


def wake(seconds: float, *, key: str) -> None:
    """Has this part of the page run again after so many seconds, or later where many pages are open."""
    turn = {"seconds": paced(seconds), "turn": time.monotonic_ns()}
    _component(key=key, data=turn, height=0, on_due_change=lambda: None)
