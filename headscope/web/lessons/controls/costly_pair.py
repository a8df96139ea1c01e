"""A question to answer by clicking: two heads without which the model loses most."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import streamlit as st

from headscope.web.charts.metric_text import change_text
from headscope.web.lessons.control import NOTHING, Control, Found, Stage, register
from headscope.web.lessons.controls.clicking import clicked, measured_beside, source, told
from headscope.web.lessons.parts import change_of, grid_of, heads_text, lost, title_html, verdict_html
from headscope.web.page.choice import head_in_link

HEADS = 2


@register
@dataclass(frozen=True)
class CostlyPair(Control):
    """Found once two heads cost at least `worth` of the metric, and more than chance would."""

    worth: float = 0.03
    method: str = "gradient"

    key = "costly_pair"

    def show(self, stage: Stage) -> Found:
        """The grid at the right; the number and the verdict at the left."""
        grid = grid_of(stage.choice)
        if grid is None:
            return NOTHING
        with stage.right.container(border=True):
            title = st.empty()
            mask = clicked(stage, grid, self.method)
        point, full = measured_beside(stage, grid, mask)
        title.html(title_html(told(mask, point, full), source(point)))
        head = head_in_link(grid)
        if point is None or full is None:
            return Found("", head=head)
        found, text = self.verdict(len(mask), point, full)
        stage.left.html(verdict_html(found, text))
        return Found(told(mask, point, full), head=head)

    def verdict(self, n_off: int, point: dict[str, Any], full: dict[str, Any]) -> tuple[bool, str]:
        """Whether the pair was found, and what to say."""
        if n_off != HEADS:
            return False, f"{heads_text(n_off).capitalize()} off; switch off exactly {HEADS}."
        cost = change_of(point, full)
        if not cost:
            return False, "Measuring …"
        if point["worse"] and lost(point, full) >= self.worth:
            return True, f"Found: this pair costs {cost}. Is there a worse one?"
        wanted = change_text(point["metric"], self.worth if not full["higher_is_better"] else -self.worth)
        return False, f"Not yet: {cost}. Find a pair that costs at least {wanted}."
