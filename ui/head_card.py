"""Everything known about one head."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any

import streamlit as st

from analysis.attention.npz import from_npz
from jobs.kinds.attention import AttentionQuestion
from models.heads import HeadGrid, HeadId
from ui.asking import answered
from ui.choice import Choice, attention_link
from ui.importance_view import ranks_html
from ui.matrix import matrix_html
from ui.patches import overlays_html
from ui.shell import theme
from ui.site_map import ATTENTION

MOST_LABELS = 12
"""Columns of the small matrix that can be named."""

LONGEST = 45
"""Characters of the sentence in which the card shows where the head looks."""


def show_head_card(
    choice: Choice, facts: dict[str, Any], grid: HeadGrid, head: HeadId, rankings: Mapping[str, Mapping[HeadId, float]]
) -> None:
    """Its address, its rank under every method that was computed, and where it looks."""
    title, before, after = st.columns([3, 1, 1], vertical_alignment="center")
    title.html(
        '<div class="hl-group">Head card</div>'
        f'<div class="hl-current">{escape(head.bank.capitalize())} {head.layer}.{head.head}</div>'
    )
    place = grid.positions[head]
    for column, icon, step, name in (
        (before, ":material/chevron_left:", -1, "previous"),
        (after, ":material/chevron_right:", 1, "next"),
    ):
        neighbour = grid.heads[(place + step) % len(grid)]
        column.button(
            "", icon=icon, key=name, help=f"The {name} head", on_click=_go, args=(neighbour,), width="stretch"
        )
    if rankings:
        st.html(f'<h2 class="hl-card-title">Rank among {len(grid)}</h2>' + ranks_html(head, rankings))
    _show_where_it_looks(choice, facts, head)
    link = attention_link(choice, head)
    st.page_link(ATTENTION.file, label="See its attention", icon=ATTENTION.icon, query_params=link)


def _go(head: HeadId) -> None:
    st.query_params["head"] = str(head)


def _show_where_it_looks(choice: Choice, facts: dict[str, Any], head: HeadId) -> None:
    """Its map in the shortest of the example sentences, or on an image."""
    example: dict[str, Any] = {"image": 0}
    if facts["answers"] != "looker":
        short = min(facts["examples"], key=lambda one: abs(len(one["text"]) + len(one["pair"] or "") - LONGEST))
        example = {name: value for name, value in short.items() if value is not None}
    run = answered(AttentionQuestion(choice.model, **example), patience=3.0)
    if run is None:
        return
    seen = from_npz((run.folder / run.result["file"]).read_bytes())
    bank = seen.bank(head.bank)
    weights = bank.map_of(head.layer, head.head)
    st.html('<h2 class="hl-card-title">Where it looks</h2>')
    if weights is None:
        st.caption("This head is no longer in the model.")
    elif seen.picture is not None:
        st.html(overlays_html(seen.picture, {str(head): weights}, 0, theme()))
    else:
        st.html(matrix_html(weights, bank.queries, bank.keys, theme(), named=len(bank.keys) <= MOST_LABELS))
