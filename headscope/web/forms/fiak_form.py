"""The form that starts a FiAK run: how much goes, by which prior, in which form of attention, and for how long."""

from __future__ import annotations

from typing import Any

import streamlit as st

from headscope.models.heads import HeadGrid
from headscope.runs.client import submit
from headscope.runs.kinds.fiak import FiakRun, in_order
from headscope.runs.run import RESUMABLE
from headscope.web.grid.mask_link import read_mask
from headscope.web.page.choice import Choice
from headscope.web.page.errors import one_sentence
from headscope.web.runs.requests import store

ABOUT = (
    "Every attention score gets a prior, as if keys were parts of a mixture (Nguyen et al. 2023). Priors are trained; "
    "the smallest go, the others become 1, and what is left is fine-tuned."
)
FORMS = {"dot": "Dot product", "distance": "Squared distance"}
ABOUT_FORM = {
    "dot": "q·k plus the log of the prior: for models that exist. An even prior leaves them as they are.",
    "distance": "−|q − k|² plus the log of the prior: the paper's own model, for those who train from the start. A "
    "model that was trained with dot products has to learn anew.",
}
STARTS = {"trained": "The trained weights", "scratch": "New weights"}
ABOUT_START = {
    "scratch": "Weights are drawn anew, by the seed, and learn together with the priors: give it thousands of steps."
}
AMONG = {"layer": "All scores of a layer", "query": "The scores of each query"}
ABOUT_AMONG = {
    "layer": "The weakest of a whole layer go, all heads together: for inputs of one length, such as images.",
    "query": "Every query loses the same share: for texts of unequal length, whose later places are trained less.",
}
SHARED = {"head": "Each head its own", "layer": "The same for a layer"}
ABOUT_SHARED = {
    "head": "Each head gives up other keys; the keys are still made for the others.",
    "layer": "All heads of a layer give up the same keys, so their key and value projections are skipped.",
}
RATES = {"trained": 2e-4, "scratch": 1e-3}


def show_form(choice: Choice, grid: HeadGrid, answers: str) -> None:
    """How much goes, by which prior, and for how long; `answers` is the kind of model that the facts tell."""
    st.html('<h2 class="hl-card-title">New run</h2>')
    st.caption(ABOUT)
    what = st.segmented_control("Prune", ["Scores", "Mixed", "Keys"], default="Scores", key="what", required=True)
    wanted: dict[str, Any] = {"scores": 0.0, "prior": "key" if what == "Keys" else "pair"}
    if what != "Keys":
        wanted["scores"] = st.slider("Scores that go, %", 5, 95, 70, 5, key="scores") / 100
        usual = "layer" if answers == "looker" else "query"
        wanted["among"] = _picked("Weakest among", AMONG, ABOUT_AMONG, usual, "among")
    if what != "Scores":
        wanted["keys"] = st.slider("Keys that go, %", 5, 80, 20, 5, key="keys") / 100
        wanted["shared"] = _picked("Keys that go are", SHARED, ABOUT_SHARED, "head", "shared")
    wanted["form"] = _picked("Form of attention", FORMS, ABOUT_FORM, "dot", "form")
    start = _picked("Begin with", STARTS, ABOUT_START, "trained", "start")
    wanted["by"] = "random" if st.toggle("At random, as a control", key="by-random") else "prior"
    left, right = st.columns(2)
    wanted["steps_priors"] = int(left.number_input("Steps for priors", 10, 100_000, 200, 50, key="steps-priors"))
    wanted["steps_tuning"] = int(right.number_input("then fine-tune", 1, 100_000, 200, 50, key="steps-tuning"))
    wanted["seed"] = int(left.number_input("Seed", 0, 10_000, 0, key="seed"))
    wanted["rate"] = float(
        right.number_input("Rate", 0.00001, 0.1, RATES[start], 0.0001, format="%.5f", key=f"rate-{start}")
    )
    mask = st.text_input("Heads removed first", key="mask", placeholder="encoder.0.1 …", bind="query-params")
    if st.button("Start", key="start-fiak", type="primary", width="stretch", icon=":material/play_arrow:"):
        with one_sentence():
            heads = in_order(read_mask(grid, mask))
            _start(FiakRun(choice.model, start=start, mask=heads, **wanted, **choice.judged))


def _picked(label: str, names: dict[str, str], about: dict[str, str], usual: str, key: str) -> str:
    """What was chosen of these, with what it means below."""
    options = list(names)
    picked = st.selectbox(label, options, options.index(usual), format_func=names.__getitem__, key=f"{key}-{usual}")
    if picked in about:
        st.caption(about[picked])
    return picked


def _start(kind: FiakRun) -> None:
    run = submit(store(), kind)
    if run.state in RESUMABLE:
        store().resume(run.id)
    st.query_params["run"] = run.id
    st.rerun()
