"""What every page begins with: the stylesheet, the side bar, and one sentence instead of a traceback."""

from __future__ import annotations

import time
from html import escape
from pathlib import Path

import streamlit as st

from jobs.run import RUNNING, WAITING, progress_line
from jobs.workers import tend
from ui.access import show_visitor, visitor
from ui.asking import store
from ui.choice import Choice
from ui.glossary import explained
from ui.palette import css_variables
from ui.sentence import REFUSED, one_sentence
from ui.site_map import MODEL, RUNS, SITE_MAP
from ui.tour import FIRST_STOP as TOUR

STYLESHEET = Path(__file__).with_name("style.css")


def theme() -> str:
    """Light or dark, as the browser shows it now."""
    return "dark" if st.context.theme.type == "dark" else "light"


def begin_page(title: str, lede: str) -> Choice:
    """The look, the side bar and the heading; gives what the link says.

    Every page calls it first, and all that must hold for a page belongs here: the first deep link to a fresh server
    runs the page without app.py.
    """
    st.set_page_config(f"{title} · Headlight", layout="wide", initial_sidebar_state=236)
    st.html(f"<style>{css_variables()}{STYLESHEET.read_text(encoding='utf-8')}</style>")
    visitor()
    choice = Choice.from_link()
    refused = st.session_state.pop(REFUSED, "")
    with st.sidebar:
        st.html('<div class="hl-logo"><span class="hl-mark"></span>Headlight</div>')
        for group, pages in SITE_MAP.items():
            st.html(f'<div class="hl-group">{group}</div>')
            for page in pages:
                st.page_link(page.file, label=page.title, icon=page.icon, query_params=choice.link, width="stretch")
            if MODEL in pages:
                st.page_link(MODEL.file, label="Tour", icon=":material/explore:", query_params=TOUR, width="stretch")
        with st.container(border=True, key="current-model"):
            st.html(f'<div class="hl-group">Model</div><div class="hl-current">{escape(choice.model)}</div>')
        _running()
        show_visitor()
    st.html(f'<h1 class="hl-title">{escape(title)}</h1><p class="hl-lede">{explained(lede, "lede")}</p>')
    if refused:
        st.error(refused)
    return choice


@st.fragment(run_every=1.5)
def _running() -> None:
    """The runs under way, of this and every other tab, and of the command line."""
    if REFUSED in st.session_state:  # by a click in a part that runs alone: the whole page says it
        st.rerun()
    with one_sentence():
        _show_running()


def _show_running() -> None:
    tend(store())
    runs = store().runs(WAITING)
    slot = st.container(border=True, key="running") if runs else st.container(key="nothing-running")
    with slot:
        if not runs:
            return
        first = next((run for run in runs if run.state == RUNNING), runs[-1])
        st.progress(first.share, progress_line(first, time.time()))
        others = len(runs) - 1
        if others:
            st.html(f'<div class="hl-source">{others} more waiting or running</div>')
        st.page_link(RUNS.file, label="All runs", query_params=Choice.from_link().link)


def chips(*texts: str) -> str:
    """Small labels in a row."""
    return "".join(f'<span class="hl-chip">{escape(text)}</span>' for text in texts)
