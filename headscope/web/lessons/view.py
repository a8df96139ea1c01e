"""A lesson on the page: the list of lessons, and one step with its text, control, question and ways on."""

from __future__ import annotations

from html import escape
from pathlib import Path

import streamlit as st

from headscope.web.cards.head_card import show_card_of
from headscope.web.lessons.control import NOTHING, Found, Stage, control_with
from headscope.web.lessons.lesson import PaperFigure, Step, lessons
from headscope.web.lessons.link import Place
from headscope.web.page.choice import Choice
from headscope.web.page.errors import one_sentence
from headscope.web.page.glossary_html import glossary_html, paragraphs

_HERE = Path(__file__)
NOTICE = "notice"
DENIED = "The paper's models are larger and learned for longer; on this small one the number says otherwise."
_arrows = st.components.v2.component("lesson_arrows", js=_HERE.with_name("lesson_arrows.js").read_text("utf-8"))


def show_style(big: bool) -> None:
    """What only lessons look like; for a projector, larger and without the side bar."""
    files = ["lessons.css", *(["presenter.css"] if big else [])]
    st.html(f"<style>{''.join(_HERE.with_name(name).read_text('utf-8') for name in files)}</style>")


def show_list(place: Place) -> None:
    """A card a lesson, and all words below."""
    for lesson, column in zip(lessons().values(), st.columns(len(lessons())), strict=True):
        with column.container(border=True, height="stretch", key=f"lesson-card-{lesson.key}"):
            st.html(
                f'<div class="hl-lesson-card"><div class="hl-lesson-number">Lesson {lesson.number} · '
                f"{len(lesson.steps)} steps · {lesson.minutes} min</div>"
                f'<h2 class="hl-card-title">{escape(lesson.title)}</h2><p>{escape(lesson.promise)}</p>'
                f'<div class="hl-source">{escape(lesson.paper)}<br>on the {escape(lesson.model)}</div></div>'
            )
            first = Place(lesson.key, big=place.big)
            st.button("Start", key=f"start-{lesson.key}", on_click=first.put, width="stretch")
    with st.container(border=True):
        st.html('<h2 class="hl-card-title">The words that lessons explain</h2>' + glossary_html())


def show_top(place: Place) -> None:
    """Which lesson this is, how far it is, and the ways to another step or size."""
    lesson, n_steps = place.found, len(place.found.steps)
    row = st.container(horizontal=True, vertical_alignment="center")
    marks = ("done", "now", "")
    pills = "".join(f'<i class="hl-{marks[(n >= place.step) + (n > place.step)]}"></i>' for n in range(1, n_steps + 1))
    row.html(
        f'<div class="hl-lesson-line"><span><b>Lesson {lesson.number}</b>{escape(lesson.title)}</span>'
        f'<span class="hl-pills" role="img" aria-label="step {place.step} of {n_steps}">{pills}'
        f"<span>step {place.step} of {n_steps}</span></span></div>",
        width="stretch",
    )
    with row.popover("Steps"):
        for number, step in enumerate(lesson.steps, 1):
            st.button(
                f"{number}. {step.title}", key=f"jump-{number}", on_click=place.at(number).put, width="stretch",
                type="tertiary", disabled=number == place.step,
            )  # fmt: skip
        st.button("All lessons", key="all-lessons", on_click=Place(big=place.big).put, width="stretch")
    with row.popover("Words"):
        st.html(glossary_html())
    other = Place(place.lesson, place.step, not place.big)
    row.button(
        "Usual size" if place.big else "Present", key="lesson-size", on_click=_resize, args=(other,),
        icon=":material/present_to_all:" if not place.big else ":material/close_fullscreen:",
    )  # fmt: skip


def _resize(place: Place) -> None:
    """The same step with all that was chosen in it, in another size."""
    st.query_params.from_dict({**st.query_params.to_dict(), "size": ""} | place.link)
    if not place.big:
        del st.query_params["size"]


def show_step(place: Place, choice: Choice) -> None:
    """Text and number at the left, the picture at the right; question and ways on below, and the card of a head."""
    step = place.shown
    left, right = st.columns([1, 1.35], gap="large")
    left.html(f'<div class="hl-text">{paragraphs(step.text, "text")}</div>')
    widgets, below = left.container(), left.container(key=f"lesson-here-{place.step}")
    found = NOTHING
    with right, one_sentence():
        stage = Stage(place.lesson, place.step, choice, widgets, right, place.big)
        found = control_with(step.control, step.settings).show(stage)
    below.html(beside(step, found, place.found.reproduced))
    with st.container(border=True, key="lesson-question"):
        _show_question(step.question, step.notice)
    _show_ways(place)
    _arrows(key="lesson-arrows")
    if found.head is not None:
        show_card_of(choice, found.head)


def beside(step: Step, found: Found, reproduced: str) -> str:
    """The paper's own figure, ours, and whether what is claimed holds by ours."""
    parts = [_paper_html(step.paper)] if step.paper is not None else []
    parts.append(f"<p><b>Here:</b> {escape(found.text or 'measuring …')}</p>")
    if step.claim and found.holds is not None:
        parts.append(_judged_html(step.claim, found.holds, reproduced))
    return f'<div class="hl-here">{"".join(parts)}</div>'


def _paper_html(paper: PaperFigure) -> str:
    hand = ", from a transcription" if paper.second_hand else ""
    return f"<p><b>The paper:</b> {escape(paper.text)} <small>({escape(paper.where + hand)})</small></p>"


def _judged_html(claim: str, holds: bool, reproduced: str) -> str:
    """Where the specimen denies a claim, that is part of the lesson."""
    mark, said, why = ("holds", "Holds here", "") if holds else ("denied", "Does not hold here", f" {DENIED}")
    more = f"<small>Measured with more care: {escape(reproduced)}</small>"
    return f'<p><span class="hl-{mark}">{said}:</span> {escape(claim)}.{escape(why)} {more}</p>'


def _show_question(question: str, notice: str) -> None:
    row = st.container(horizontal=True, vertical_alignment="center", wrap=False)
    row.html(f'<p class="hl-question">Question: {escape(question)}</p>')
    is_open = st.query_params.get(NOTICE) == "1"
    row.button(
        "Hide" if is_open else "What to notice", key="lesson-notice", on_click=_turn_notice, args=(not is_open,),
        icon=":material/visibility_off:" if is_open else ":material/lightbulb:",
    )  # fmt: skip
    if is_open:
        st.html(f'<div class="hl-notice">{paragraphs(notice, "notice")}</div>')


def _turn_notice(is_open: bool) -> None:
    if is_open:
        st.query_params[NOTICE] = "1"
    else:
        st.query_params.pop(NOTICE, None)


def _show_ways(place: Place) -> None:
    """Back, on, and after the last step to the next lesson; buttons are those of a step, so that no click is lost."""
    steps = place.found.steps
    back, hint, on = st.columns([1, 1.6, 1.6], vertical_alignment="center")
    back.button(
        "Previous", key=f"lesson-previous-{place.step}", on_click=place.at(place.step - 1).put,
        disabled=place.step == 1, icon=":material/arrow_back:",
    )  # fmt: skip
    hint.html('<div class="hl-hint">Arrow keys turn the page · this step is a link</div>')
    further, label = place.at(place.step + 1), ""
    if place.step < len(steps):
        label = f"Next: {steps[place.step].title}"
    else:
        further = place.next_lesson() or Place(big=place.big)
        label = f"Next lesson: {further.found.title}" if further.lesson else "All lessons"
    on.button(label, key=f"lesson-next-{place.step}", on_click=further.put, type="primary", width="stretch")
