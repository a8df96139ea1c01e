"""Masks that the user put aside, to come back to or to compare with."""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd
import streamlit as st

from headscope.models.heads import HeadId
from headscope.web.cards.live_metric import measured
from headscope.web.charts.metric_text import point_text
from headscope.web.grid.lab_masks import Lab

KEPT = "remembered-masks"
UNPRUNED = "the unpruned model"

Masks = dict[str, frozenset[HeadId]]


def remembered(model: str) -> Masks:
    """The masks put aside in this session for a model, by their names."""
    masks: dict[str, Masks] = st.session_state.setdefault(KEPT, {})
    return masks.setdefault(model, {})


def remember(lab: Lab, then: Callable[[], None]) -> None:
    """Puts the present mask aside under the next letter."""
    masks = remembered(lab.choice.model)
    if lab.mask not in masks.values():
        masks[f"mask {chr(ord('A') + len(masks) % 26)}, {len(lab.mask)} heads off"] = lab.mask
    then()


def show_remembered(lab: Lab, then: Callable[[], None]) -> None:
    """The masks put aside with their metrics, and a way back to each."""
    masks = remembered(lab.choice.model)
    st.button(
        "Put the present mask aside", key="remember", icon=":material/bookmark:", on_click=remember, args=(lab, then),
        disabled=not lab.mask,
    )  # fmt: skip
    if not masks:
        st.caption("Masks put aside stand here with their numbers, and can be compared under What breaks.")
        return
    rows = []
    for name, mask in masks.items():
        point = measured(lab.choice, lab.grid.spell(mask))
        shown = {"Mask": name, "Kept": len(lab.heads) - len(mask)}
        if point is not None:
            small = {"Parameters": f"{point['parameters'] / 1e6:.2f} M"}
            shown |= {point["metric"]: point_text(point), **small, "Significantly worse": point["worse"]}
        rows.append(shown)
    st.dataframe(pd.DataFrame(rows), hide_index=True, height="content", key="remembered-table")
    row = st.container(horizontal=True)
    for name, mask in masks.items():
        row.button(f"Back to {name.split(',')[0]}", key=f"back-{name}", on_click=lab.put, args=(mask, then))
