"""The grid coloured by a method, with the place of a head that is picked."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from headscope.web.cards.head_card import pick_head
from headscope.web.charts.findings import head_line
from headscope.web.charts.importance_view import finding
from headscope.web.grid.head_grid import GridStyle, legend_html
from headscope.web.lessons.control import NOTHING, Control, Found, Stage, register
from headscope.web.lessons.parts import grid_of, scores_of, title_html
from headscope.web.page.shell import theme


@register
@dataclass(frozen=True)
class ScoresGrid(Control):
    """Scores of one method."""

    method: str = "gradient"

    key = "scores"

    def show(self, stage: Stage) -> Found:
        """The grid at the right, the head at the left."""
        grid = grid_of(stage.choice)
        if grid is None:
            return NOTHING
        with stage.right.container(border=True):
            title = st.empty()
            scores = scores_of(stage.choice, self.method)
            if not scores:
                return NOTHING
            told = finding(scores, grid, self.method, self.method.upper() if self.method == "lrp" else self.method)
            title.html(title_html(told, "dark is important · pick a head to open its card"))
            selected = pick_head(grid, GridStyle.of_scores(scores), stage.key("grid"))
            st.html(legend_html(theme()))
        if selected is not None:
            stage.left.html(head_line(selected, scores))
        return Found(f"{told}.", head=selected)
