"""A short tour for whoever comes for the first time: pick a specimen, see its heads, remove one, take a lesson."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

import streamlit as st

from headscope.runs.kinds.live import LiveQuery
from headscope.web.page.choice import Choice
from headscope.web.page.site_map import LESSONS, MODEL, PRUNE_LAB, PageEntry
from headscope.web.runs.requests import ask

SEEN = "headscope-tour"
"""The cookie, and the mark in the session, of a browser that has seen or closed the tour."""

PARAMETER = "tour"
FIRST_STOP = {PARAMETER: "1"}
"""The parameters of a link that begins the tour again."""

MODEL_OF_THE_TOUR = "looker"
_REMEMBERED = """export default function () {
  document.cookie = "headscope-tour=seen; max-age=31536000; path=/; samesite=lax";
}"""
_remember = st.components.v2.component("tour_memory", js=_REMEMBERED)


@dataclass(frozen=True)
class Stop:
    """One step: what to do on a page, and the words that lead to the next."""

    page: PageEntry
    title: str
    text: str
    onward: str


STOPS = (
    Stop(
        MODEL,
        "New here? Four short steps to the first insight",
        "A transformer looks at its input with many attention heads. Here you see what each of them does, and remove "
        "those that can be spared. Begin with the looker, a small model that reads handwritten digits.",
        "Pick the looker",
    ),
    Stop(
        MODEL,
        "Every square is a head, every row a layer",
        "Dark squares are heads that the model leans on. Click the darkest one: its card opens at the right and tells "
        "what is known about it.",
        "Next: remove a head",
    ),
    Stop(
        PRUNE_LAB,
        "A click switches a head off, and the model answers",
        "Switch off a pale square, and watch the accuracy above the grid. Then a dark one. How many pale ones can go "
        "before it falls?",
        "Next: take a lesson",
    ),
    Stop(
        LESSONS,
        "Five papers found out what you have just seen",
        "Each lesson walks through one of them, live on a small model. Start with the first. The other pages are in "
        "the side bar whenever you want to go on alone.",
        "Done",
    ),
)


def show_tour(page: PageEntry) -> None:
    """The step that the link names, or the first one on a first visit; on other pages and later nothing.

    Its place is there in any case: what stands below would be drawn anew without it, and lose the keyboard's focus.
    """
    number = _asked()
    with st.container():
        if number > 1 or st.session_state.get(SEEN):
            _remember(key="tour-memory")
        if number and STOPS[number - 1].page is page:
            _ask_ahead(number)
            _show(number)


def _ask_ahead(number: int) -> None:
    """Asks for the first numbers of the Prune Lab one stop before they are looked at."""
    if number < len(STOPS) and STOPS[number].page is PRUNE_LAB:
        ask(LiveQuery(MODEL_OF_THE_TOUR))


def is_first_visit() -> bool:
    """Whether this browser has never seen the tour, and came by no link to something."""
    return not st.query_params.to_dict() and not st.session_state.get(SEEN) and SEEN not in st.context.cookies


def _asked() -> int:
    """The step, counted from 1; 0 for none."""
    given = st.query_params.get(PARAMETER, "")
    if given.isdecimal() and 1 <= int(given) <= len(STOPS):
        return int(given)
    return int(is_first_visit())


def _show(number: int) -> None:
    stop = STOPS[number - 1]
    with st.container(border=True, key="tour"):
        st.html(
            f'<p class="hl-source">Tour, step {number} of {len(STOPS)}</p>'
            f'<h2 class="hl-card-title">{escape(stop.title)}</h2><p class="hl-tour">{escape(stop.text)}</p>'
        )
        row = st.container(horizontal=True, vertical_alignment="center")
        _show_way(row, number)
        if number < len(STOPS):
            row.button("Close the tour", key="tour-close", on_click=_close, type="tertiary")


def _show_way(row: st.delta_generator.DeltaGenerator, number: int) -> None:
    """To the next step: on this page by a button, on another by a link."""
    stop = STOPS[number - 1]
    if number == len(STOPS):
        row.button(stop.onward, key="tour-close", on_click=_close)
        return
    after = STOPS[number]
    link = Choice(MODEL_OF_THE_TOUR).link | {PARAMETER: str(number + 1)}
    if after.page is stop.page:
        row.button(stop.onward, key="tour-next", on_click=st.query_params.from_dict, args=(link,))
    else:
        row.page_link(after.page.file, label=stop.onward, icon=after.page.icon, query_params=link)


def _close() -> None:
    """Never again in this browser."""
    st.session_state[SEEN] = True
    st.query_params.pop(PARAMETER, None)
