"""A question to answer by clicking: a head that training keeps and rank does not, or the other way."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from headscope.models.heads import HeadId
from headscope.runs.kind import Kind
from headscope.web.cards.head_card import pick_head
from headscope.web.grid.head_grid import GridStyle
from headscope.web.grid.presets import least_important
from headscope.web.lessons.control import NOTHING, Control, Found, Stage, register
from headscope.web.lessons.controls.gates import kept_by
from headscope.web.lessons.controls.subset import subset_run
from headscope.web.lessons.parts import grid_of, scores_of, title_html, verdict_html
from headscope.web.page.choice import Choice
from headscope.web.runs.requests import answered


@register
@dataclass(frozen=True)
class Disagreement(Control):
    """Found once the head that is picked is kept by one of the two only."""

    keep: int = 12
    n_steps: int = 60
    method: str = "gradient"

    key = "disagreement"

    def trainings(self, choice: Choice) -> list[Kind]:
        """The one."""
        return [subset_run(choice, self.keep, self.n_steps)]

    def show(self, stage: Stage) -> Found:
        """What training kept, at the right; the verdict at the left."""
        grid = grid_of(stage.choice)
        scores = scores_of(stage.choice, self.method) if grid is not None else {}
        run = answered(subset_run(stage.choice, self.keep, self.n_steps)) if scores else None
        if grid is None or run is None:
            return NOTHING
        learned, ranked = kept_by(run), frozenset(grid) - least_important(grid, scores, len(grid) - self.keep)
        ranks = {head: place for place, head in enumerate(sorted(scores, key=lambda one: -scores[one]), 1)}
        look = GridStyle(
            shades={head: float(head in learned) for head in grid}, ramp="gate",
            notes={head: f"rank {ranks[head]} of {len(grid)} by {self.method}" for head in grid},
        )  # fmt: skip
        with stage.right.container(border=True):
            source = f"dark: kept by training · point at a head to see its rank; rank keeps 1 to {self.keep}"
            st.html(title_html(f"The {len(learned)} heads that training chose", source))
            selected = pick_head(grid, look, stage.key("grid"))
        if selected is None:
            stage.left.html(verdict_html(False, "Pick a head in the grid."))
        else:
            found, text = verdict(selected, learned, ranked, ranks[selected])
            stage.left.html(verdict_html(found, text))
        shared = len(learned & ranked)
        return Found(f"training and rank agree on {shared} of {self.keep} heads.", head=selected)


def verdict(head: HeadId, learned: frozenset[HeadId], ranked: frozenset[HeadId], rank: int) -> tuple[bool, str]:
    """Whether the two disagree on a head, and what to say."""
    if head in learned and head in ranked:
        return False, f"{head} has rank {rank}, and both keep it. Look on."
    if head not in learned and head not in ranked:
        return False, f"{head} has rank {rank}, and both throw it away. Look on."
    keeper = "only training keeps it" if head in learned else "only rank keeps it"
    return True, f"Found: {head} has rank {rank}, and {keeper}."
