"""What every page begins with: the stylesheet, the side bar, and one sentence instead of a traceback."""

from __future__ import annotations

import re
import time
from html import escape
from pathlib import Path

import plotly.graph_objects as go
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from headscope.runs.execution.workers import supervise
from headscope.runs.run import RUNNING, WAITING, progress_line
from headscope.web.charts.layout import BIGGER, enlarged
from headscope.web.charts.palette import css_variables
from headscope.web.grid.head_grid import BANKS
from headscope.web.page.choice import PRESENTER, SIZE, Choice, is_presented
from headscope.web.page.errors import REFUSED, one_sentence
from headscope.web.page.glossary_html import explained
from headscope.web.page.markdown import plain
from headscope.web.page.site_map import MODEL, RUNS, SITE_MAP
from headscope.web.page.tour import FIRST_STOP as TOUR
from headscope.web.runs.polling import poll_every, sessions
from headscope.web.runs.requests import store
from headscope.web.server.visitor import show_visitor, visitor

STYLESHEET = Path(__file__).with_name("style.css")
PROJECTED = Path(__file__).with_name("projected.css")
SWITCH = "presenter-size"

_open_lists = st.components.v2.component(
    "open_lists", js=Path(__file__).with_name("open_lists.js").read_text(encoding="utf-8")
)


def theme() -> str:
    """Light or dark, as the browser shows it now."""
    return "dark" if st.context.theme.type == "dark" else "light"


def begin_page(title: str, lede: str) -> Choice:
    """The look, the side bar and the heading; gives what the link says.

    Every page calls it first, and all that must hold for a page belongs here: the first deep link to a fresh server
    runs the page without app.py.
    """
    st.set_page_config(f"{title} · Headscope", layout="wide", initial_sidebar_state=236)
    st.html(f"<style>{css_variables()}{stylesheet(is_presented())}</style>")
    _open_lists(key="open-lists")
    visitor()
    choice = Choice.from_link()
    refused = st.session_state.pop(REFUSED, "")
    with st.sidebar:
        st.html('<div class="hl-logo"><span class="hl-mark"></span>Headscope</div>')
        for group, pages in SITE_MAP.items():
            st.html(f'<div class="hl-group">{group}</div>')
            for page in pages:
                st.page_link(page.file, label=page.title, icon=page.icon, query_params=choice.link, width="stretch")
            if MODEL in pages:
                st.page_link(MODEL.file, label="Tour", icon=":material/explore:", query_params=TOUR, width="stretch")
        with st.container(border=True, key="current-model"):
            st.html(f'<div class="hl-group">Model</div><div class="hl-current">{escape(choice.model)}</div>')
        _show_size()
        _running()
        show_visitor()
    st.html(f'<h1 class="hl-title">{escape(title)}</h1><p class="hl-lede">{explained(lede, "lede")}</p>')
    with st.container():  # whose place is there in any case, or all below would be drawn anew
        if refused:
            st.error(plain(refused))
    return choice


def stylesheet(big: bool) -> str:
    """What pages look like; for a lecture hall with every size of type larger, ours and Streamlit's."""
    usual = BANKS.read_text(encoding="utf-8") + STYLESHEET.read_text(encoding="utf-8")
    if not big:
        return usual
    larger = re.sub(r"font-size: (\d+)px", lambda found: f"font-size: {round(BIGGER * int(found[1]))}px", usual)
    return larger + PROJECTED.read_text(encoding="utf-8")


def show_chart(figure: go.Figure, key: str, place: DeltaGenerator | None = None) -> None:
    """A figure at the size of the page, here or in a place that was kept for it."""
    shown = enlarged(figure) if is_presented() else figure
    (place or st).plotly_chart(shown, config={"displayModeBar": False}, key=key)


def _show_size() -> None:
    """The switch for a lecture hall; what the link says holds."""
    st.session_state[SWITCH] = is_presented()
    st.toggle("Presenter size", key=SWITCH, on_change=_resize, help="Larger type and charts, for a projector.")


def _resize() -> None:
    if st.session_state[SWITCH]:
        st.query_params[SIZE] = PRESENTER
    else:
        st.query_params.pop(SIZE, None)


@poll_every(2.0)
def _running() -> None:
    """The runs under way, of this and every other tab, and of the command line."""
    sessions()  # this one is still open
    if REFUSED in st.session_state:  # by a click in a part that runs alone: the whole page says it
        st.rerun()
    with one_sentence():
        _show_running()


def _show_running() -> None:
    supervise(store())
    runs = store().runs(WAITING)
    slot = st.container(border=True, key="running") if runs else st.container(key="nothing-running")
    with slot:
        if not runs:
            return
        first = next((run for run in runs if run.state == RUNNING), runs[-1])
        st.progress(first.share, plain(progress_line(first, time.time())))
        others = len(runs) - 1
        if others:
            st.html(f'<div class="hl-source">{others} more waiting or running</div>')
        st.page_link(RUNS.file, label="All runs", query_params=Choice.from_link().link)


def chips(*texts: str) -> str:
    """Small labels in a row."""
    return "".join(f'<span class="hl-chip">{escape(text)}</span>' for text in texts)
