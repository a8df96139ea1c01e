"""The grid of roles, with what a head is for when it is picked."""

from __future__ import annotations

from dataclasses import dataclass

import streamlit as st

from headscope.models.heads import HeadId
from headscope.runs.kinds.roles import RolesRun
from headscope.web.cards.head_card import pick_head
from headscope.web.charts.role_view import grid_finding, role_legend_html, role_style, sentence_html, short
from headscope.web.grid.head_grid import GridStyle
from headscope.web.lessons.control import NOTHING, Control, Found, Stage, register
from headscope.web.lessons.parts import grid_of, title_html, verdict_html
from headscope.web.page.choice import Choice
from headscope.web.page.shell import theme
from headscope.web.runs.requests import answered
from headscope.web.runs.role_facts import RoleFacts


@register
@dataclass(frozen=True)
class RolesGrid(Control):
    """All roles that were found; where a role is `wanted`, the class has to find a head that has it."""

    wanted: str = ""

    key = "roles"

    def show(self, stage: Stage) -> Found:
        """Letters at the right, the head that is picked at the left."""
        grid = grid_of(stage.choice)
        facts = role_facts(stage.choice) if grid is not None else None
        if grid is None or facts is None:
            return NOTHING
        hidden = bool(self.wanted)
        with stage.right.container(border=True):
            source = "pick a head to read what it does" if hidden else "letter: a role that was proved · pick a head"
            st.html(title_html("Which of them is it?" if hidden else grid_finding(facts), source))
            look = GridStyle() if hidden else role_style(facts, frozenset())
            selected = pick_head(grid, look, stage.key("grid"))
            if not hidden:
                st.html(role_legend_html(facts, theme()))
        if selected is not None:
            stage.left.html(f"<b>{short(selected)}</b>{sentence_html(facts, selected, theme())}")
        if hidden:
            stage.left.html(verdict_html(*verdict(facts, selected, self.wanted)))
        return Found(f"{grid_finding(facts)}.", any(facts.held(head) for head in facts.heads), selected)


def role_facts(choice: Choice) -> RoleFacts | None:
    """The roles of the model, once they were looked for."""
    run = answered(RolesRun(choice.model))
    return None if run is None else RoleFacts.from_json(run.found)


def verdict(facts: RoleFacts, head: HeadId | None, wanted: str) -> tuple[bool, str]:
    """Whether the head has the role, and what to say."""
    named = facts.title(wanted).lower()
    if not any(one.verdict for one in facts.found.get(wanted, {}).values()):
        return False, f"No head of this model passes the test of the {named} role."
    if head is None:
        return False, "Pick a head in the grid."
    if wanted in facts.held(head):
        return True, f"Found: {head} has the {named} role."
    return False, f"{head} has not. Look on."
