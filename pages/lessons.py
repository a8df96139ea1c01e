"""Guided walks through the papers, one step at a time, with live controls."""

import streamlit as st

from headscope.web.lessons.link import Place
from headscope.web.lessons.view import show_list, show_step, show_style, show_top
from headscope.web.page.markdown import plain
from headscope.web.page.shell import begin_page
from headscope.web.page.site_map import LESSONS
from headscope.web.page.tour import show_tour


def show_lessons(place: Place, wrong: str) -> None:
    """The list, with a sentence if the link names a lesson that there is not."""
    begin_page("Lessons", "Five papers as guided walks, each live on a specimen. Every step is a link.")
    show_style(place.big)
    show_tour(LESSONS)
    if wrong:
        st.error(plain(wrong))
    show_list(place)


def show_lesson(place: Place) -> None:
    """One step; the model of the page is that of the lesson."""
    lesson = place.found
    st.query_params["model"] = lesson.model
    top = st.container()
    choice = begin_page(place.shown.title, f"{lesson.paper} · on the {lesson.model}")
    show_style(place.big)
    with top:
        show_top(place)
    show_step(place, choice)


place, wrong = Place(), ""
try:
    place = Place.from_link()
except KeyError as error:
    wrong = str(error.args[0])
if place.lesson:
    show_lesson(place)
else:
    show_lessons(place, wrong)
