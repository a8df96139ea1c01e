"""Stops a run or takes it up again. Pages keep it outside of what runs every second, which would swallow clicks."""

from __future__ import annotations

import streamlit as st

from jobs.run import FAILED, RESUMABLE, WAITING, Run
from ui.asking import store
from ui.plain import plain
from ui.sentence import by_click


def show_run_button(run: Run, key: str) -> None:
    """The one button that fits the state of the run; none once it is done."""
    if run.state in WAITING:
        stop = store().cancel, run.id
        st.button("Stop", key=f"stop-{key}", on_click=by_click, args=stop, icon=":material/stop_circle:")
    elif run.state in RESUMABLE:
        row = st.container(horizontal=True, vertical_alignment="center")
        row.warning(plain(run.message if run.state == FAILED else f"This run was {run.state}; it can go on."))
        row.button("Go on", key=f"go-on-{key}", on_click=by_click, args=(store().resume, run.id))
