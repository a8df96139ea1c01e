"""Which roles are left as more and more heads go."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import streamlit as st

from headscope.models.heads import HeadId
from headscope.models.loading.fingerprint import fingerprint
from headscope.runs.learned_scores import newest
from headscope.web.charts.metric_text import share_text
from headscope.web.charts.role_charts import role_bars
from headscope.web.lessons.control import NOTHING, Control, Found, Stage, register
from headscope.web.lessons.controls.roles import role_facts
from headscope.web.lessons.parts import scores_of, show_chart, title_html
from headscope.web.page.markdown import plain
from headscope.web.page.shell import theme
from headscope.web.runs.requests import store
from headscope.web.runs.role_facts import NONE, RoleFacts, kept_of
from headscope.web.runs.role_masks import by_scores


@register
@dataclass(frozen=True)
class Survivors(Control):
    """Heads of a bank go by the gates that were learned last, or by `otherwise` as long as there are none."""

    learned: str = "l0"
    otherwise: str = "lrp"
    bank: str = "encoder"

    key = "survivors"

    def show(self, stage: Stage) -> Found:
        """Stacked bars at the right, from all heads to few; one step of them in numbers at the left."""
        with stage.right.container(border=True):
            facts = role_facts(stage.choice)
            has_run = newest(store().folder, fingerprint(stage.choice.model), self.learned, stage.choice.judged)
            method = self.learned if has_run else self.otherwise
            scores = scores_of(stage.choice, method) if facts is not None else {}
            if facts is None or not scores:
                return NOTHING
            own = {head: score for head, score in scores.items() if head.bank == self.bank}
            if not own:  # the gates that were learned are those of other banks
                st.info(plain(f"The gates that were learned last are not those of the {self.bank} bank."))
                return NOTHING
            kept = [kept_of(facts, mask, self.bank) for mask in by_scores(own)]
            steps = {str(len(heads)): facts.counts(heads) for heads in kept}
            shares = {len(heads): _with_role(facts, heads) for heads in kept}
            whole, few = max(shares), min(shares)
            told = (
                f"{share_text(shares[whole])} of all {whole} {self.bank} heads have a role, "
                f"{share_text(shares[few])} of the last {few}"
            )
            by = "the gates that were learned" if has_run else "relevance, until gates were learned"
            st.html(title_html(told, f"heads by their clearest role · they go by {by}, lowest first"))
            letters = {key: str(about["letter"]) for key, about in facts.about.items()}
            show_chart(stage, role_bars(steps, letters, theme(), 360), "bars")
        return Found(f"{told}.", shares[few] > shares[whole])


def _with_role(facts: RoleFacts, heads: Collection[HeadId]) -> float:
    return 1 - facts.counts(heads)[NONE] / max(1, len(heads))
