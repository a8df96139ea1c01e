"""What the smaller model may cost and must keep: the engine finds the mask."""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from typing import Any

import streamlit as st

from headscope.pruning.search.budgets import QUANTITIES, AtMost, Faster, Within
from headscope.runs.kinds.budget import BudgetRun
from headscope.web.cards.live_metric import chance_text
from headscope.web.charts.metric_text import point_text, share_text
from headscope.web.grid.lab_masks import Lab
from headscope.web.runs.requests import answered

WANTED = "budget-wanted"


def show_budget(lab: Lab, methods: dict[str, str], then: Callable[[], None]) -> None:
    """The budgets, the button, and what was found for them."""
    budgets, method = _form(methods)
    if st.button("Find the mask", key="find-budget", icon=":material/savings:", disabled=not budgets):
        st.session_state[WANTED] = BudgetRun(lab.choice.model, budgets, method, **lab.choice.judged)
    wanted = st.session_state.get(WANTED)
    if wanted is None or wanted.model != lab.choice.model:
        st.caption("Heads go in the order of their scores until every budget is kept, and no further than needed.")
        return
    run = answered(wanted)
    if run is None:
        return
    st.html(found_html(run.found))
    if run.found["met"] and run.found["mask"]:
        mask = lab.grid.parse(run.found["mask"])
        st.button(
            "Put this mask into the grid", key="take-budget", on_click=lab.put, args=(mask, then), type="primary",
            disabled=mask == lab.mask,
        )  # fmt: skip


def _form(methods: dict[str, str]) -> tuple[list[str], str]:
    quality, size, speed, order = st.columns(4)
    budgets: list[str] = []
    with quality:
        if st.toggle("Keep the metric", True, key="budget-keep"):
            points = st.number_input("Lose at most so many points", 0.0, 100.0, 1.0, 0.5, key="budget-points")
            budgets.append(str(Within("", points)))
    with size:
        if st.toggle("Make it smaller", key="budget-small"):
            what = st.selectbox("What", QUANTITIES, key="budget-what", label_visibility="collapsed")
            share = st.number_input("Keep at most, %", 0, 99, 50, 5, key="budget-share")
            budgets.append(str(AtMost(share / 100, what)))
    with speed:
        if st.toggle("Make it faster", key="budget-fast"):
            times = st.number_input("Times as fast", 1.01, 20.0, 1.2, 0.1, key="budget-times")
            batch = int(st.number_input("at batch", 1, 1024, 16, key="budget-batch"))
            length = int(st.number_input("and length, tokens", 1, 4096, 128, key="budget-length"))
            budgets.append(str(Faster(times, batch, length)))
    method = order.selectbox("Order", list(methods), format_func=methods.__getitem__, key="budget-method")
    return budgets, method


def found_html(found: dict[str, Any]) -> str:
    """The engine's sentence, and what the mask costs on the split it was chosen on and on the test set."""
    dense, smaller = found["cost"]["dense"], found["cost"]["smaller"]
    saved = (
        f"{share_text(smaller['parameters'] / dense['parameters'])} of the parameters, "
        f"{share_text(smaller['flops'] / dense['flops'])} of the work are left"
    )
    chosen = f"{found['split']}: {point_text(found['point'])}. " if found["point"] else ""
    test = found["test"]["point"]
    chance = f", {chance_text(test['p'])}" if test["p"] is not None else ""
    full = found["test"]["unpruned"]
    lines = (
        f"{found['removed']} heads go; {saved}.",
        f"{chosen}test: {point_text(test)} instead of {point_text(full)}{chance}",
    )
    told = " ".join(lines)
    return f'<h2 class="hl-card-title">{escape(found["sentence"])}</h2><p class="hl-source">{escape(told)}</p>'
