"""How heads come to matter while a model is trained."""

from dataclasses import replace

import pandas as pd
import streamlit as st

from headscope.models.heads import HeadId, grid_of_addresses
from headscope.models.loading.known_models import specimen_folder, specimen_names
from headscope.pruning.search.dynamics import Moment, read_history
from headscope.runs.kinds.dynamics import DynamicsRun
from headscope.web.cards.head_card import pick_head, show_card_of
from headscope.web.charts.dynamics_view import (
    curves_figure,
    dynamics_title,
    metric_figure,
    moment_name,
    prunable_figure,
)
from headscope.web.charts.palette import shades_of
from headscope.web.grid.head_grid import GridStyle, legend_html
from headscope.web.page.choice import Choice
from headscope.web.page.errors import one_sentence
from headscope.web.page.markdown import plain
from headscope.web.page.shell import begin_page, show_chart, theme
from headscope.web.runs.requests import answered


def named(typed: str) -> list[str]:
    """The checkpoints of a text, one a line; a folder may have spaces in its name."""
    return [line.strip() for line in typed.splitlines() if line.strip()]


def moments_of(choice: Choice) -> list[Moment]:
    """Those of a specimen's history, or of the checkpoints that were named."""
    listed = named(st.query_params.get("checkpoints", ""))
    with st.popover("Your own checkpoints"):
        typed = st.text_area(
            "Folders or hub ids in the order of the training, one a line", "\n".join(listed), key="checkpoint-list"
        )
        if st.button("Judge them", key="judge-checkpoints") and named(typed):
            st.query_params["checkpoints"] = "\n".join(named(typed))
            st.rerun()
    if listed:
        run = answered(DynamicsRun(listed[-1], listed, **choice.judged))
        return [Moment.from_json(moment) for moment in run.found["moments"]] if run is not None else []
    if choice.model in specimen_names():
        return read_history(specimen_folder(choice.model) / "history.json")
    told = f"{choice.model} came without a history. Name the checkpoints of its training, or open a specimen."
    st.info(plain(told))
    return []


def show_moments(choice: Choice, moments: list[Moment]) -> None:
    """What can be pruned when, and which heads matter when."""
    source = f"{moments[-1].metric}, development; heads go by gradient score · {len(moments)} moments of training"
    left, right = st.columns([1.2, 1])
    with left.container(border=True, height="stretch"):
        st.html(f'<h2 class="hl-card-title">{dynamics_title(moments)}</h2><p class="hl-source">{source}</p>')
        show_chart(curves_figure(moments, theme()), "dynamics-curves")
    with right.container(border=True, height="stretch"):
        st.html(
            '<h2 class="hl-card-title">How many heads can go, over training</h2>'
            '<p class="hl-source">The question of Michel et al. 2019, section 7; while the metric is near its floor, '
            "there is little to lose</p>"
        )
        show_chart(prunable_figure(moments, theme()), "dynamics-prunable")
        show_chart(metric_figure(moments, theme()), "dynamics-metric")
    with st.container(border=True):
        names = [moment_name(moment) for moment in moments]
        st.html('<h2 class="hl-card-title">Which heads matter at this moment</h2>')
        picked = st.select_slider("Training step", names, names[-1], key="moment")
        moment = moments[names.index(picked)]
        scores = {HeadId.parse(address): score for address, score in moment.scores.items()}
        look = replace(GridStyle.of_scores(scores), shades=shades_of(scores))
        head = pick_head(grid_of_addresses(scores), look, "moment-grid")
        st.html(legend_html(theme()))
    if head is not None:
        show_card_of(choice, head)
    rows = [
        {"step": moment_name(moment), "head": head, "score": score}
        for moment in moments
        for head, score in moment.scores.items()
    ]
    st.download_button(
        "Scores as CSV", data=pd.DataFrame(rows).to_csv(index=False), file_name="dynamics.csv", mime="text/csv",
        key="dynamics-csv", on_click="ignore", type="tertiary",
    )  # fmt: skip


choice = begin_page("Dynamics", "How heads come to matter while a model is trained, and when pruning becomes possible.")
with one_sentence():
    found = moments_of(choice)
    if found:
        own = st.query_params.get("checkpoints", "").split()
        show_moments(choice.with_model(own[-1]) if own else choice, found)
