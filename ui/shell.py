"""What every page begins with: the stylesheet, the side bar, and one sentence instead of a traceback."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from html import escape
from pathlib import Path

import streamlit as st

from ui.palette import css_variables

STYLESHEET = Path(__file__).with_name("style.css")


def theme() -> str:
    """Light or dark, as the browser shows it now."""
    return "dark" if st.context.theme.type == "dark" else "light"


def begin_page(title: str, lede: str) -> None:
    """The look, the side bar and the heading; called first by every page, which a deep link may open without app.py."""
    st.html(f"<style>{css_variables(theme())}{STYLESHEET.read_text(encoding='utf-8')}</style>")
    with st.sidebar:
        st.html('<div class="hl-logo"><span class="hl-mark"></span>Headlight</div>')
        st.page_link("pages/model.py", label="Model")
    st.html(f'<h1 class="hl-title">{escape(title)}</h1><p class="hl-lede">{escape(lede)}</p>')


@contextmanager
def one_sentence() -> Iterator[None]:
    """Shows bad input as one sentence on the page."""
    try:
        yield
    except (ValueError, KeyError) as error:
        st.error(str(error.args[0] if error.args else error))


def chips(*texts: str) -> str:
    """Small labels in a row."""
    return "".join(f'<span class="hl-chip">{escape(text)}</span>' for text in texts)
