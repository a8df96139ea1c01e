"""Switch heads off and watch what the model loses; let sweeps and budgets find what can go; take the rest home."""

from collections.abc import Callable, Collection
from dataclasses import replace
from functools import partial
from typing import Any
from urllib.parse import urlencode

import streamlit as st

from headscope.analysis.importance.scores import Scores
from headscope.models.heads import HeadGrid, HeadId
from headscope.models.loading.fingerprint import fingerprint
from headscope.runs.kinds.facts import FactsQuery
from headscope.runs.kinds.importance import QUICK, ImportanceRun
from headscope.runs.kinds.methods import MethodsQuery, code_mark
from headscope.runs.learned_scores import newest
from headscope.web.cards.breaks_card import show_breaks
from headscope.web.cards.budget_card import show_budget
from headscope.web.cards.download_card import show_download
from headscope.web.cards.head_card import show_head_card
from headscope.web.cards.live_metric import ask, begun, current, point_of, tiles_html, unpruned
from headscope.web.cards.repair_card import show_repair
from headscope.web.cards.speed_card import show_speed
from headscope.web.cards.sweep_card import (
    is_form_open,
    show_sweep_button,
    show_sweep_numbers,
    show_sweeps,
    shown_sweep,
    sweep_form,
    sweeps_of,
)
from headscope.web.grid.head_grid import GridStyle, chosen_mask, edit_mask, legend_html
from headscope.web.grid.lab_masks import Lab
from headscope.web.grid.mask_link import short_mask
from headscope.web.grid.presets import show_presets
from headscope.web.grid.saved_masks import show_remembered
from headscope.web.page.choice import Choice, head_in_link
from headscope.web.page.errors import one_sentence, told
from headscope.web.page.shell import begin_page, theme
from headscope.web.page.site_map import PRUNE_LAB, ROLES
from headscope.web.page.tour import show_tour
from headscope.web.runs.polling import paced, refresh_timer
from headscope.web.runs.requests import answered, store

USUAL = ("gradient", "lrp", "confidence", "ablation")
EDITING, NUMBERS, CURVES, MORE = "lab-mask", "lab-numbers", "lab-curves", "lab-more"
"""The parts of the page that run by themselves."""


def refresh() -> None:
    """Runs every part that shows the mask, and nothing else."""
    st.rerun([EDITING, NUMBERS, CURVES, MORE])


@st.fragment(key=EDITING)
@told
def show_mask(lab: Lab, methods: dict[str, str]) -> None:
    """The grid to edit, and the presets."""
    with st.container(border=True):
        row = st.container(horizontal=True, vertical_alignment="bottom")
        method = row.selectbox(
            "Coloured by", list(methods), format_func=methods.__getitem__, key="lab-method", width=230
        )
        masks = lab.history
        for icon, way, help_text, possible in (
            (":material/undo:", "undone", "Undo", masks.before),
            (":material/redo:", "redone", "Redo", masks.after),
        ):
            row.button(
                "", icon=icon, key=f"lab-{way}", help=help_text, on_click=lab.go, args=(way, refresh),
                disabled=not possible,
            )  # fmt: skip
        row.button(
            "Restore all", key="lab-reset", on_click=lab.put, args=(frozenset(), refresh), disabled=not masks.mask
        )
        with row.popover("Share", icon=":material/link:"):
            st.caption("This link opens the page with this model and this mask.")
            st.code(f"{page_address()}?{urlencode(lab.choice.link | {'mask': short_mask(lab.grid, lab.mask)})}")
        with st.container():  # for the progress, whose going must not have all below drawn anew
            scores = scores_of(lab, method)
        look = replace(GridStyle.of_scores(scores), removed=lab.removed)
        take = partial(take_edit, lab)
        lab.keep(masks.edited(edit_mask(lab.grid, look, key=grid_key(lab), edit=masks.edit, on_change=take)))
        st.html(legend_html(theme()))
        link = lab.choice.link | {"mask": lab.spelt}
        st.page_link(  # which stays where nothing is switched off: the first click must not move what is below
            ROLES.file, label="Which roles are left?", icon=ROLES.icon, query_params=link, disabled=not lab.mask
        )
        show_presets(lab, scores, refresh)


def grid_key(lab: Lab) -> str:
    """The grid of this model."""
    return f"lab-grid-{lab.choice.model}"


def take_edit(lab: Lab) -> None:
    """Takes what was clicked before any part of the page is drawn: Undo stands above the grid and must know of it."""
    masks = lab.history
    edit = chosen_mask(lab.grid, lab.removed, key=grid_key(lab), edit=masks.edit)
    lab.keep(masks.edited(edit))
    touched = edit.mask ^ masks.mask
    if len(touched) == 1:
        st.query_params["head"] = str(next(iter(touched)))
    refresh()


def page_address() -> str:
    """Where this page is, without what it was asked."""
    return (st.context.url or "").partition("?")[0]


def scores_of(lab: Lab, method: str) -> dict[HeadId, float]:
    """The scores that colour the grid, once they are there."""
    with one_sentence():
        run = answered(ImportanceRun(lab.choice.model, method=method, **lab.choice.judged))
        return dict(Scores.from_json(run.found).values) if run is not None else {}
    return {}


@st.fragment(key=NUMBERS)
@told
def show_numbers(lab: Lab) -> None:
    """What the mask keeps. The metric comes in two steps: a first number is waited for, then this part looks again."""
    run, full = begun(ask(lab.choice, lab.spelt)), unpruned(lab.choice)
    n = len(lab.heads)
    with st.container(gap=None):
        st.html(tiles_html(point_of(run), point_of(full), (n - len(lab.mask), n)))
        if not (run.ended and full.ended):
            refresh_timer(0.4, key="numbers-refresh")


def show_curves(lab: Lab, ended: bool) -> None:
    """Sweeps, with the place of the mask in them; when the one that is shown ends, the page is drawn anew."""
    with one_sentence():
        runs = sweeps_of(store(), lab.choice)
        run = current(lab.choice, lab.spelt)
        with st.container(gap=None):
            with st.container():
                show_sweeps(runs, point_of(run) or {"removed": len(lab.mask), "metric": ""})
            if ended and not run.ended:  # while a sweep is under way this part runs again anyhow
                refresh_timer(1.2, key="curves-refresh")
        if shown_sweep(runs).ended != ended:
            st.rerun()


def show_sweep_card(lab: Lab, methods: dict[str, str]) -> None:
    """The curves, and a form for the next one, which stands apart from what runs every second."""
    banks = [bank.bank for bank in lab.grid.banks]
    runs = sweeps_of(store(), lab.choice)
    is_open = is_form_open(lab.choice, runs)
    with st.container():  # one place whatever is in it, or the form below would be drawn anew
        if runs:
            shown = shown_sweep(runs)
            st.fragment(told(show_curves), key=CURVES, run_every=None if shown.ended else paced(0.7))(lab, shown.ended)
            with st.container(horizontal=True, vertical_alignment="center", key="sweep-buttons"):
                if not is_open:
                    with st.popover("New sweep", icon=":material/add:", key="new-sweep"):  # before what comes and goes
                        sweep_form(lab.choice, methods, banks)
                show_sweep_button(shown)
                show_sweep_numbers(shown)
        else:
            st.fragment(lambda: None, key=CURVES)()
            st.html(
                '<h2 class="hl-card-title">Let a sweep show what can go</h2>'
                '<p class="hl-source">It removes more and more heads, judges what is left at every step, and draws '
                "five random orders beside it. You can go on editing meanwhile.</p>"
            )
    if is_open:
        with st.container(key="sweep-form"):
            sweep_form(lab.choice, methods, banks)


@st.fragment(key=MORE)
@told
def show_more(lab: Lab, facts: dict[str, Any], methods: dict[str, str]) -> None:
    """What the mask breaks, what fits a budget, how fast the smaller model is, and the way to take it home."""
    parts: dict[str, Callable[[Lab], None]] = {
        "Budget": lambda one: show_budget(one, methods, refresh),
        "What breaks": show_breaks,
        "Head card": lambda one: show_card(one, facts),
        "Masks put aside": lambda one: show_remembered(one, refresh),
        "Speed": show_speed,
        "Repair": show_repair,
        "Take it home": lambda one: show_download(one.choice, one.spelt),
    }
    # No tabs: Streamlit switches them off for a moment at every redraw, and a click in that moment is lost.
    shown = st.segmented_control(
        "More about the mask", list(parts), default="Budget", key="lab-tab", required=True, bind="query-params",
        label_visibility="collapsed",
    )  # fmt: skip
    with st.container(key="lab-part"), one_sentence():
        parts[shown](lab)


def usual_first(methods: Collection[str]) -> list[str]:
    """The keys of the methods, those that most people want first."""
    return sorted(methods, key=lambda key: (USUAL.index(key) if key in USUAL else len(USUAL), key))


def show_card(lab: Lab, facts: dict[str, Any]) -> None:
    """The card of the head that was clicked last."""
    narrow, _ = st.columns([1.3, 1])
    with narrow:
        show_head_card(lab.choice, facts, lab.grid, head_in_link(lab.grid) or lab.heads[0])


def show_page(choice: Choice, facts: dict[str, Any], methods: dict[str, dict[str, Any]]) -> None:
    """The grid and its numbers beside the curves; what else can be asked of the mask below."""
    grid = HeadGrid.from_json(facts["grid"])
    lab = Lab.open(choice, grid, grid.parse(facts["removed"]))
    mark, folder = fingerprint(choice.model), store().folder
    ready = {
        key: methods[key]["title"]
        for key in usual_first(methods)
        if not methods[key]["needs_run"] or newest(folder, mark, key, choice.judged)
    }
    quick = {key: title for key, title in ready.items() if key in QUICK}
    left, right = st.columns([1.15, 1])
    with left:
        numbers = st.container()
        show_mask(lab, quick)
    with right.container(border=True, height="stretch"):
        show_sweep_card(lab, ready)
    with st.container(border=True):
        show_more(lab, facts, quick)
    with numbers:
        show_numbers(lab)


choice = begin_page(
    "Prune Lab",
    "Switch attention heads off and watch what the model loses. Click a head, drag a box, or use the arrows and Space.",
)
show_tour(PRUNE_LAB)
with one_sentence():
    listed = answered(MethodsQuery("", code_mark()))
    asked = answered(FactsQuery(choice.model)) if listed is not None else None
    if listed is not None and asked is not None:
        show_page(choice, asked.found, {method["key"]: method for method in listed.found["methods"]})
