"""Choose a model and see its heads, coloured by how much the loss depends on each."""

import time
from html import escape

import streamlit as st

from analysis.importance.gradient import Gradient
from analysis.importance.method import Scores, score
from models.catalog import PRESETS, specimen_names
from models.head_model import HeadModel
from tasks.catalog import task_for
from ui.findings import findings_html
from ui.head_grid import head_grid_html, legend_html
from ui.model_facts import ParameterShares, facts_html, shares_html
from ui.model_store import loaded
from ui.shell import begin_page, one_sentence, theme
from ui.specimen_card import PURPOSES, specimen_html

EXAMPLES = 128


def choose(name: str) -> None:
    """Puts the model into the link, from which the page reads it."""
    st.query_params["model"] = name


def choose_typed() -> None:
    """The folder or hub id that was typed, or a preset."""
    name = st.session_state["typed"].strip() or st.session_state["preset"]
    if name:
        choose(name)


def show_specimens(names: list[str], current: str) -> None:
    """One card a specimen."""
    for name, column in zip(names, st.columns(len(PURPOSES)), strict=False):
        chosen = name == current
        with column.container(border=True, height="stretch", key=f"chosen-{name}" if chosen else f"card-{name}"):
            st.html(specimen_html(name, theme()))
            label = "Loaded" if chosen else "Load"
            st.button(label, key=f"load-{name}", on_click=choose, args=(name,), disabled=chosen, width="stretch")


@st.cache_data(show_spinner=False, max_entries=16)
def scored(name: str) -> tuple[Scores, str, float]:
    """The gradient scores of a model on its own task, the task's title and the seconds it took."""
    head_model = loaded(name, lambda _: None)
    task = task_for(head_model)
    started = time.perf_counter()
    scores = score(Gradient(), head_model, task, "calibration", EXAMPLES)
    return scores, task.title, time.perf_counter() - started


def show_heads(head_model: HeadModel, name: str) -> None:
    """The banks, coloured where the model can be scored."""
    try:
        with st.spinner("Scoring every head"):
            result, title, seconds = scored(name)
    except ValueError as error:
        scores, coloured, source = None, "", f"Not coloured: {escape(str(error))}"
    else:
        scores, coloured = result.values, ", coloured by how much the loss depends on each"
        source = f"Gradient · {title}, calibration, {result.n} examples · computed in {seconds:.1f} s"
    st.html(
        f'<p class="hl-card-title">{len(head_model.grid)} heads{coloured}</p><p class="hl-source">{source}</p>'
        + head_grid_html(head_model.grid, scores, head_model.removed, theme())
        + (legend_html(theme()) + findings_html(scores) if scores else "")
    )
    if head_model.missed:
        st.warning(f"Not understood, so not shown: {', '.join(head_model.missed)}")


def show_facts(head_model: HeadModel) -> None:
    """What the model is."""
    facts = {
        "Architecture": type(head_model.model).__name__,
        "Heads": head_model.grid.describe(),
        "Parameters": f"{head_model.n_parameters:,}",
        "Computes on": f"{head_model.device}, {str(head_model.model.dtype).removeprefix('torch.')}",
    }
    if head_model.removed:
        facts["Removed"] = f"{len(head_model.removed)} heads"
    st.html('<p class="hl-card-title">What it is</p>' + facts_html(facts) + shares_html(ParameterShares.of(head_model)))


def show_other_models() -> None:
    """A folder, a hub id, or a well-known model."""
    st.html('<p class="hl-card-title">Load another model</p>')
    with st.form("other", border=False):
        typed, button = st.columns([3, 1], vertical_alignment="bottom")
        typed.text_input("Folder or hub id", key="typed", placeholder="a folder, or owner/name")
        button.form_submit_button("Load", on_click=choose_typed, width="stretch")
        presets = {preset.name: preset.title for preset in PRESETS}
        st.selectbox(
            "Well-known models, with a network",
            ["", *presets],
            format_func=lambda name: presets.get(name, "choose"),
            key="preset",
        )
    st.caption("Safetensors only. No code from the hub is run.")


specimens = [name for name in PURPOSES if name in specimen_names()]
current = st.query_params.get("model", specimens[0] if specimens else "")
begin_page(
    "See what every attention head does, then remove the ones you can spare",
    "Pick a model. Those below ship with Headlight and need no network.",
)
show_specimens(specimens, current)
left, right = st.columns([2.3, 1])
with right, one_sentence():
    facts = st.container(border=True)
    with st.container(border=True, height="stretch"):
        show_other_models()
with left.container(border=True, height="stretch"), one_sentence():
    status = st.empty()
    head_model = loaded(current, lambda stage: status.caption(f"{current}: {stage} …"))
    status.empty()
    with facts:
        show_facts(head_model)
    show_heads(head_model, current)
