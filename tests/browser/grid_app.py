"""Head grids of every kind on one page, for the browser tests."""

import math
import time
from dataclasses import replace

import streamlit as st

from headscope.models.heads import HeadBank, HeadGrid, HeadId, LayerHeads
from headscope.web.charts.palette import css_variables
from headscope.web.grid.head_grid import GridStyle, MaskEdit, edit_mask, legend_html, look_html, select_head
from headscope.web.page.shell import stylesheet, theme

HOSTILE = '<img src=x onerror="document.body.dataset.ran=1">'
TRANSLATOR = HeadGrid(
    tuple(HeadBank(bank, (LayerHeads(tuple(range(8))),) * 6) for bank in ("encoder", "decoder", "cross"))
)
GROUPED = HeadGrid((HeadBank("decoder", (LayerHeads((0, 0, 0, 1, 1, 1, 2, 2, 2)),) * 4 + (LayerHeads((0, 0, 1)),)),))
SHARED = HeadGrid((HeadBank("encoder", (LayerHeads(tuple(range(12)), calls=12),)),))
LARGE = HeadGrid((HeadBank("decoder", (LayerHeads(tuple(head // 4 for head in range(32))),) * 32),))
BERT = HeadGrid((HeadBank("encoder", (LayerHeads(tuple(range(12))),) * 12),))
ROLES = [
    ("P", "positional"),
    ("S", "syntactic"),
    ("R", "rare words"),
    ("A", "alignment"),
    ("E", "end mark"),
    ("B", "broad"),
    ("D", "end mark"),
]


def scored(grid: HeadGrid) -> GridStyle:
    """A look of invented scores."""
    return GridStyle.of_scores({head: math.exp(3 * math.sin(7.3 * at + 1.7 * at * at)) for at, head in enumerate(grid)})


def role_style(grid: HeadGrid) -> GridStyle:
    """Invented roles for two thirds of the heads, with second roles, a layer that needs a run and a hostile note."""
    letters = {head: ROLES[at * at % 11] for at, head in enumerate(grid) if at * at % 11 < len(ROLES)}
    second, missing = frozenset([grid.heads[9], grid.heads[5]]), frozenset(grid.layer("cross", 5))
    gone = frozenset(grid.layer("decoder", 5)[:2])
    return GridStyle(
        letters=letters, second_role=second, hatched=missing, removed=gone, notes={HeadId("encoder", 0, 0): HOSTILE}
    )


def remembered(name: str, grid: HeadGrid, look: GridStyle) -> HeadId | None:
    """A grid whose selected head is kept under the name."""
    st.session_state[name] = select_head(grid, look, key=f"grid-{name}", selected=st.session_state.get(name))
    return st.session_state[name]


def replace_mask(*addresses: str) -> None:
    """Python puts a mask of its own."""
    st.session_state["edit"] = st.session_state["edit"].replaced(frozenset(map(HeadId.parse, addresses)))


def show_choice() -> None:
    """A head to select, with a button that moves the ring."""
    st.button("first head", on_click=st.session_state.update, kwargs={"scores": HeadId("encoder", 0, 0)})
    chosen = remembered("scores", TRANSLATOR, replace(scored(TRANSLATOR), removed=frozenset({HeadId("encoder", 2, 2)})))
    st.text(f"selected: {chosen}")
    st.html(legend_html(theme()))


def show_others() -> None:
    """Groups, uneven rows, shared layers and small multiples."""
    remembered("grouped", GROUPED, scored(GROUPED))
    remembered("shared", SHARED, GridStyle(shades={head: head.head / 11 for head in SHARED}, ramp="gate"))
    for name, column in zip(("left", "right"), st.columns(2), strict=True):
        with column:
            remembered(name, TRANSLATOR, replace(scored(TRANSLATOR), size="mini"))


def show_editor() -> None:
    """A mask to edit, buttons that replace it, and a slow page on demand."""
    buttons = st.container(horizontal=True)
    buttons.button("keep all", on_click=replace_mask)
    buttons.button("another widget")
    if buttons.toggle("slow"):
        time.sleep(1)
    look = replace(scored(BERT), removed=frozenset({HeadId("encoder", 0, 11)}))
    st.session_state["edit"] = edit = edit_mask(BERT, look, key="grid-mask", edit=st.session_state["edit"])
    st.text(f"revision {edit.revision}, {len(edit.mask)} heads: {' '.join(map(str, sorted(edit.mask)))}")


st.set_page_config("Grids", layout="wide")
st.html(f"<style>{css_variables()}{stylesheet(big=False)}</style>")
st.session_state.setdefault("edit", MaskEdit())
st.session_state["runs"] = st.session_state.get("runs", 0) + 1
top, bottom = st.columns([2.4, 1]), st.columns(2)
with top[0].container(border=True):
    show_choice()
with top[1].container(border=True):
    show_others()
with bottom[0].container(border=True):
    show_editor()
with bottom[1].container(border=True):
    remembered("roles", TRANSLATOR, role_style(TRANSLATOR))
    for name, grid, look in [("roles", TRANSLATOR, role_style(TRANSLATOR)), ("grouped", GROUPED, scored(GROUPED))]:
        st.container(key=f"picture-{name}").html(look_html(grid, look, theme()))
if "large" in st.query_params:
    with st.container(border=True, width=732):
        remembered("large", LARGE, scored(LARGE))
st.text(f"run {st.session_state['runs']} is complete")
