"""Grammatical relations and the heads that follow them."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from headscope.web.charts.role_view import bars_html, case_bars
from headscope.web.lessons.control import NOTHING, Control, Found, Stage, register
from headscope.web.lessons.controls.roles import role_facts
from headscope.web.lessons.parts import title_html
from headscope.web.page.shell import theme

MOST = 8
"""Relations that are shown."""


@register
@dataclass(frozen=True)
class Relations(Control):
    """For each grammatical relation, the head that follows it best, beside the best fixed offset."""

    key = "relations"

    def show(self, stage: Stage) -> Found:
        """Bars at the right."""
        with stage.right.container(border=True):
            facts = role_facts(stage.choice)
            if facts is None:
                return NOTHING
            rows = facts.best_of_relations()
            n = sum(row.verdict for row in rows)
            told = f"For {n} of {len(rows)} relations a head does better than any fixed offset could"
            st.html(title_html(told, "words whose strongest attention is the related word · tick = best fixed offset"))
            titles = ("relation", "best head", "found", "baseline", "")
            st.html(bars_html(case_bars(rows[:MOST]), titles, theme()))
        return Found(f"{told}.", n > 0)
