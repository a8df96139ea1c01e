"""The grid to click, with the metric beside it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import streamlit as st

from headscope.models.heads import HeadGrid, HeadId
from headscope.web.cards.head_card import open_card
from headscope.web.charts.metric_text import metric_text
from headscope.web.charts.role_view import named
from headscope.web.grid.head_grid import GridStyle, MaskEdit, edit_mask, legend_html
from headscope.web.grid.mask_link import mask_in_link, put_mask
from headscope.web.lessons.control import NOTHING, Control, Found, Stage, register
from headscope.web.lessons.parts import change_of, grid_of, heads_text, live, number_html, scores_of, title_html
from headscope.web.page.choice import head_in_link
from headscope.web.page.shell import theme


@register
@dataclass(frozen=True)
class Clicking(Control):
    """Heads that are switched off by hand; coloured by a method, or all alike if none is named."""

    method: str = "gradient"

    key = "clicking"

    def show(self, stage: Stage) -> Found:
        """The grid at the right, the number at the left."""
        grid = grid_of(stage.choice)
        if grid is None:
            return NOTHING
        with stage.right.container(border=True):
            title = st.empty()
            mask = clicked(stage, grid, self.method)
        point, full = measured_beside(stage, grid, mask)
        title.html(title_html(told(mask, point, full), source(point)))
        head = head_in_link(grid)
        if full is None:
            return Found("", head=head)
        return Found(told(mask, point, full), alone_spared(mask, point, full), head)


def clicked(stage: Stage, grid: HeadGrid, method: str) -> frozenset[HeadId]:
    """The mask after the user's clicks; it is part of the link, and a step keeps its own.

    A card that is open goes with the clicks.
    """
    key, memory = stage.key("grid"), stage.key("mask")
    before = st.session_state.get(memory) or MaskEdit().replaced(mask_in_link(grid))
    scores = scores_of(stage.choice, method) if method else {}
    edit = edit_mask(grid, GridStyle.of_scores(scores), key=key, edit=before)
    head = last_clicked(edit)
    if head is not None and edit.steps != before.steps and head_in_link(grid) is not None:
        open_card(head)
    st.session_state[memory] = edit
    put_mask(grid, edit.mask)
    if scores:
        st.html(legend_html(theme()))
    row = st.container(horizontal=True)
    row.button(
        "Restore all", key=stage.key("restore"), on_click=_restore, args=(memory,), disabled=not edit.mask,
        icon=":material/restart_alt:",
    )  # fmt: skip
    row.button(
        "Head card" if head is None else f"Card of {named(head)}", key=stage.key("card"), on_click=open_card,
        args=(head,), disabled=head in (None, head_in_link(grid)), icon=":material/badge:",
        help="All that is known of the head that was clicked last",
    )  # fmt: skip
    return edit.mask


def last_clicked(edit: MaskEdit) -> HeadId | None:
    """The head that the last click turned; None after a box of several, or when nothing was clicked yet."""
    return next(iter(edit.steps[-1])) if edit.steps and len(edit.steps[-1]) == 1 else None


def _restore(memory: str) -> None:
    st.session_state[memory] = st.session_state[memory].replaced(frozenset())


def measured_beside(
    stage: Stage, grid: HeadGrid, mask: frozenset[HeadId]
) -> tuple[dict[str, Any] | None, dict[str, Any] | None]:
    """The number of a mask at the left; gives the points of the mask and of the full model."""
    with stage.left:
        point, full = live(stage.choice, grid.spell(mask))
        st.html(number_html(point, full))
    return point, full


def told(mask: frozenset[HeadId], point: dict[str, Any] | None, full: dict[str, Any] | None) -> str:
    """What the mask does, in a sentence."""
    if point is None:
        return "Measuring …"
    value = metric_text(point["metric"], point["value"])
    if not mask:
        return f"All heads on: {point['metric']} {value}"
    change = change_of(point, full)
    return f"{heads_text(len(mask)).capitalize()} off: {point['metric']} {value}" + (f" ({change})" if change else "")


def alone_spared(mask: frozenset[HeadId], point: dict[str, Any] | None, full: dict[str, Any] | None) -> bool | None:
    """Whether the only head that is off can go without a significant loss; None for any other mask."""
    if len(mask) != 1 or point is None or full is None or point["n"] < full["n"]:
        return None
    return not point["worse"]


def source(point: dict[str, Any] | None) -> str:
    """On what the number rests."""
    return "" if point is None else f"{point['n']} development examples · no training · click, or arrow keys and Space"
