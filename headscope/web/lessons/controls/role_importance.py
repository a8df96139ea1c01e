"""Whether heads with a role have more than their share of the importance."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from headscope.analysis.roles.role_importance import importance_by_role
from headscope.web.charts.metric_text import share_text
from headscope.web.charts.role_view import bars_html, importance_bars
from headscope.web.lessons.control import NOTHING, Control, Found, Stage, register
from headscope.web.lessons.controls.roles import role_facts
from headscope.web.lessons.parts import scores_of, title_html
from headscope.web.page.shell import theme
from headscope.web.runs.role_facts import NONE

CONFIDENCE = "confidence"


@register
@dataclass(frozen=True)
class RoleImportance(Control):
    """Share of the scores of a method that the heads of each role have, beside their share of the heads."""

    method: str = "lrp"
    bank: str = ""

    key = "role_importance"

    def show(self, stage: Stage) -> Found:
        """Bars at the right."""
        with stage.right.container(border=True):
            facts = role_facts(stage.choice)
            scores = scores_of(stage.choice, self.method) if facts is not None else {}
            sure = scores_of(stage.choice, CONFIDENCE) if scores else {}
            if facts is None or not sure:
                return NOTHING
            heads = [head for head in facts.heads if self.bank in ("", head.bank)]
            roles = {key: {head: one for head, one in own.items() if head in heads} for key, own in facts.found.items()}
            found = importance_by_role(
                {key: own for key, own in roles.items() if own},
                {head: scores[head] for head in heads},
                {head: sure[head] for head in heads},
            )
            none = found[NONE]
            told = (
                f"heads with a role are {share_text(1 - none.heads_share)} of the {self.bank or 'model'}'s heads and "
                f"have {share_text(1 - none.share)} of its {_named(self.method)}"
            )
            st.html(title_html(told[:1].upper() + told[1:], "tick = their share of the heads · last column: see Roles"))
            shown = {key: one for key, one in found.items() if one.n}
            titles = ("role", "heads", "of score", "of heads", "fixed conf.")
            st.html(bars_html(importance_bars(facts, shown), titles, theme()))
        return Found(f"{told}.", none.share < none.heads_share)


def _named(method: str) -> str:
    return "relevance" if method == "lrp" else f"{method} score"
