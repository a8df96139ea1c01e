"""Choose a model and see its heads, coloured by how much the loss depends on each."""

from dataclasses import replace
from html import escape
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from headscope.analysis.importance.scores import Scores
from headscope.models.heads import HeadGrid, HeadId
from headscope.models.loading.known_models import PRESETS, specimen_names
from headscope.runs.kinds.facts import FactsQuery
from headscope.runs.kinds.importance import ImportanceRun
from headscope.runs.policy.limits import demo
from headscope.runs.run import Run
from headscope.web.cards.head_card import let_go, show_closing, show_head_card
from headscope.web.cards.model_facts import facts_html, shares_html
from headscope.web.cards.specimen_card import PURPOSES, specimen_html
from headscope.web.charts.findings import findings_html, head_line
from headscope.web.forms.data_form import data_form
from headscope.web.grid.head_grid import GridStyle, legend_html, select_head
from headscope.web.page.choice import Choice, attention_link, head_in_link
from headscope.web.page.errors import one_sentence
from headscope.web.page.markdown import plain
from headscope.web.page.shell import begin_page, theme
from headscope.web.page.site_map import ATTENTION, IMPORTANCE, MODEL
from headscope.web.page.tour import show_tour
from headscope.web.runs.requests import answered

SOURCES = ("Folder", "Hub", "My data")


def show_specimens(choice: Choice) -> None:
    """One card a specimen."""
    names = [name for name in PURPOSES if name in specimen_names()]
    for name, column in zip(names, st.columns(len(PURPOSES)), strict=False):
        chosen = name == choice.model
        with column.container(border=True, height="stretch", key=f"chosen-{name}" if chosen else f"card-{name}"):
            st.html(specimen_html(name, theme()))
            st.button(
                "Loaded" if chosen else "Load",
                key=f"load-{name}",
                on_click=choice.with_model(name).put,
                disabled=chosen,
                width="stretch",
            )


def show_heads(choice: Choice, facts: dict[str, Any], grid: HeadGrid) -> HeadId | None:
    """The banks, coloured where the model can be scored; gives the head that is picked."""
    title, status = st.empty(), st.container()
    scored = None
    with status, one_sentence():
        scored = answered(ImportanceRun(choice.model, **choice.judged))
    scores = Scores.from_json(scored.found).values if scored else {}
    coloured = ", coloured by how much the loss depends on each" if scores else ""
    source = provenance(scored) if scored else "Not scored yet"
    title.html(
        f'<h2 class="hl-card-title">{escape(choice.model)}: {len(grid)} heads{coloured}</h2>'
        f'<p class="hl-source">{source}</p>'
    )
    look = replace(GridStyle.of_scores(scores), removed=grid.parse(facts["removed"]))
    selected = select_head(grid, look, key="grid", selected=head_in_link(grid))
    if selected is None:
        let_go()
    else:
        st.query_params["head"] = str(selected)
    if scores:
        st.html(legend_html(theme()) + (head_line(selected, scores) if selected else findings_html(scores)))
    if facts["missed"]:
        st.warning(plain(f"Not understood, so not shown: {', '.join(facts['missed'])}"))
    buttons = st.container(horizontal=True)
    head = {"head": str(selected)} if selected else {}
    buttons.page_link(
        IMPORTANCE.file, label="Open the importance map", icon=IMPORTANCE.icon, query_params=choice.link | head
    )
    buttons.page_link(
        ATTENTION.file,
        label="See where it looks" if selected else "See where the heads look",
        icon=ATTENTION.icon,
        query_params=attention_link(choice, selected),
    )
    return selected


def provenance(run: Run) -> str:
    """Where the scores come from."""
    result = run.found
    skipped = f" · {len(result['skipped'])} broken rows skipped" if result["skipped"] else ""
    where = f"{result['task']}, {result['split']}, {result['n']} examples{skipped}"
    return escape(f"Gradient, mean |∂loss/∂gate| per example · {where} · computed in {run.seconds(0):.1f} s")


def show_facts(choice: Choice, facts: dict[str, Any]) -> None:
    """What the model is, and what it is judged by."""
    grid = HeadGrid.from_json(facts["grid"])
    shown = {
        "Architecture": facts["architecture"],
        "Heads": grid.describe(),
        "Parameters": f"{facts['parameters']:,}",
        "Computes on": f"{facts['device']}, {facts['precision']}",
    }
    if facts["removed"]:
        shown["Removed"] = f"{len(grid.parse(facts['removed']))} heads"
    st.html('<h2 class="hl-card-title">What it is</h2>' + facts_html(shown) + shares_html(facts["shares"]))
    if choice.data:
        st.html(facts_html({"Judged by": "your own data"}))
        st.button("Back to the model's own task", key="back", on_click=choice.with_task("").put)
        return
    tasks = facts["tasks"]
    if tasks:
        keys = list(tasks)
        chosen = choice.task if choice.task in tasks else keys[0]
        picked = st.selectbox("Judged by", keys, keys.index(chosen), format_func=tasks.__getitem__, key="task")
        if picked != chosen:
            choice.with_task("" if picked == keys[0] else picked).put()
            st.rerun()


def show_other_models(choice: Choice) -> None:
    """A folder, a hub id, or the user's own data."""
    if demo():
        st.html('<h2 class="hl-card-title">This is a demo</h2>')
        st.caption("It shows the models above. Your own models and data need a Headscope of your own.")
        return
    st.html('<h2 class="hl-card-title">Load another model or your own data</h2>')
    source = st.segmented_control(
        "Source", SOURCES, default=SOURCES[0], key="source", label_visibility="collapsed", required=True
    )
    if source == "My data":
        data_form(choice)
        return
    with st.form("other", border=False):
        typed, button = st.columns([3, 1], vertical_alignment="bottom")
        typed.text_input(
            "Folder with config.json and safetensors" if source == "Folder" else "Hub id, with a network",
            key="typed",
            placeholder="/path/to/model" if source == "Folder" else "owner/name",
        )
        button.form_submit_button("Load", on_click=choose_typed, args=(choice,), width="stretch")
    if source == "Hub":
        presets = {preset.name: preset.title for preset in PRESETS}
        picked = st.pills("Well-known models", list(presets), format_func=presets.__getitem__, key="preset")
        if picked:
            choice.with_model(picked).put()
            st.session_state.pop("preset")
            st.rerun()
    st.caption("Safetensors only. No code from the hub is run.")


def choose_typed(choice: Choice) -> None:
    """The folder or hub id that was typed."""
    name = st.session_state["typed"].strip()
    if name:
        choice.with_model(name).put()


def show_beside(choice: Choice) -> DeltaGenerator:
    """A card for what the model is, which is given, and one that loads another."""
    facts_card = st.container(border=True)
    with st.container(border=True, height="stretch", key="other-models"), one_sentence():
        show_other_models(choice)
    return facts_card


choice = begin_page(
    "See what every attention head does, then remove the ones you can spare",
    "Pick a model. Those below ship with Headscope and need no network.",
)
show_tour(MODEL)
show_specimens(choice)
left, right = st.columns([2.3, 1])
picked = "head" in st.query_params
with right:
    beside = st.container(border=True, height="stretch", key="head-card") if picked else show_beside(choice)
with left.container(border=True, height="stretch"), one_sentence():
    asked = answered(FactsQuery(choice.model))
    if asked is not None:
        grid = HeadGrid.from_json(asked.found["grid"])
        if not picked:
            with beside:
                show_facts(choice, asked.found)
        head = show_heads(choice, asked.found, grid)
        if picked != (head is not None):
            st.rerun()
        if head is not None:
            with beside, one_sentence():
                show_closing()
                show_head_card(choice, asked.found, grid, head)
