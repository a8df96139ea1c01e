"""Brings a smaller model back: heads that stay are rescaled by least squares, and the model is trained briefly."""

from __future__ import annotations

from html import escape

import streamlit as st

from headscope.runs.kinds.finetune import RESCALED, STARTS, FinetuneRun
from headscope.runs.run import Run
from headscope.web.cards.live_metric import chance_text
from headscope.web.charts.metric_text import change_text, point_text
from headscope.web.grid.lab_masks import Lab
from headscope.web.page.site_map import PRUNE_LAB
from headscope.web.runs.requests import answered

WANTED = "repair-wanted"


def show_repair(lab: Lab) -> None:
    """How to start, for how long, and what came of it on the test set."""
    if not lab.mask:
        st.caption("Switch some heads off: then the smaller model can be trained again here.")
        return
    start_box, steps_box, button_box = st.columns([2, 1, 1], vertical_alignment="bottom")
    start = start_box.selectbox("Begin", list(STARTS), format_func=STARTS.__getitem__, key="repair-start")
    steps = int(steps_box.number_input("Training steps", 0, 100_000, 200, 50, key="repair-steps"))
    wanted = FinetuneRun(lab.choice.model, lab.spelt, **lab.choice.judged, start=start, training={"steps": steps})
    idle = not steps and start != RESCALED
    label = "Train it" if steps else "Rescale it"
    if button_box.button(label, key="repair", icon=":material/healing:", width="stretch", disabled=idle):
        st.session_state[WANTED] = wanted
    if st.session_state.get(WANTED) != wanted:
        st.caption(
            "It learns from training examples, fresh ones where the task makes them, stops by development and reports "
            "on test; the model itself stays as it is. With 0 steps nothing is trained: heads are only rescaled."
        )
        return
    run = answered(wanted)
    if run is not None:
        _show_repaired(run)


def _show_repaired(run: Run) -> None:
    result, report = run.found, run.found["report"]
    gain, name = report["gain"], result["metric"]
    what = "Training" if result["steps"] else "Rescaling"
    title = f"{what} gives {change_text(name, gain['difference'])} on test, {chance_text(gain['p_value'])}"
    stages = {"unpruned": "unpruned", "pruned": "without the heads", "rescaled": "rescaled", "tuned": "trained again"}
    told = [stage for stage in stages if stage in report and (stage != "tuned" or result["steps"])]
    lines = " · ".join(f"{stages[stage]} {point_text(report[stage])}" for stage in told)
    st.html(f'<h2 class="hl-card-title">{escape(title)}</h2><p class="hl-source">{escape(lines)}</p>')
    st.page_link(
        PRUNE_LAB.file,
        label="Open the smaller model",
        icon=":material/deployed_code:",
        query_params={"model": str(run.folder / result["folder"]), "task": result["task_key"]},
    )
