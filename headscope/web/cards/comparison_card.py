"""Compares ways to choose heads at equal numbers of them, from runs that are stored."""

from __future__ import annotations

import time
from html import escape

import pandas as pd
import streamlit as st

from headscope.runs.client import submit
from headscope.runs.kinds.method_comparison import WAYS, EqualKRun
from headscope.runs.run import RESUMABLE, WAITING, Run, progress_line
from headscope.web.charts.comparison_view import REGIMES, comparison_figure, comparison_rows, comparison_title
from headscope.web.page.choice import Choice
from headscope.web.page.errors import told
from headscope.web.page.markdown import plain
from headscope.web.page.shell import show_chart, theme
from headscope.web.runs.polling import paced
from headscope.web.runs.requests import show_run_button, store

USUAL = ["dsp", "l0", "gradient", "random"]


def show_comparison(choice: Choice, n_heads: int) -> None:
    """The newest comparison of the model, and a form that starts another."""
    runs = [run for run in store().runs(kind=EqualKRun.key) if run.model == choice.model]
    with st.expander("Compare ways to choose heads, at equal numbers of them", expanded=False):
        _show_form(choice, n_heads)
    if not runs:
        return
    run = runs[0]
    with st.container(border=True):
        show_run_button(run, "comparison")
        alive = run.state in WAITING
        st.fragment(told(_show_entries), run_every=paced(1.5) if alive else None)(run.id, alive)


def _show_form(choice: Choice, n_heads: int) -> None:
    st.caption(
        "Gates learn with the weights; gradient and random order train the smaller model for as many steps. Frozen "
        "weights are trained in the fine-tuning alone; new weights begin from scratch in the same small shape."
    )
    left, right = st.columns([2, 1])
    ways = left.pills(
        "Ways", list(WAYS), default=USUAL, selection_mode="multi", format_func=WAYS.__getitem__, key="compare-ways"
    )
    usual = f"{max(1, n_heads // 2)} {max(1, n_heads // 10)}"
    typed = right.text_input("Heads that stay, one or more numbers", usual, key="compare-keeps")
    boxes = st.columns(4, vertical_alignment="bottom")
    steps = int(boxes[0].number_input("Steps of gates", 10, 100_000, 200, 50, key="compare-steps"))
    finetune = int(boxes[1].number_input("then fine-tune", 0, 100_000, 50, 50, key="compare-finetune"))
    n_seeds = int(boxes[2].number_input("Seeds", 1, 20, 3, key="compare-seeds"))
    start = boxes[3].button("Compare", key="start-comparison", icon=":material/balance:", width="stretch")
    if start and ways:
        run = submit(store(), _wanted(choice, (typed, ways, n_seeds), (steps, finetune)))
        if run.state in RESUMABLE:
            store().resume(run.id)
        st.rerun()


def _wanted(choice: Choice, what: tuple[str, list[str], int], steps: tuple[int, int]) -> EqualKRun:
    typed, ways, n_seeds = what
    words = typed.replace(",", " ").split()
    if not words or not all(word.isdecimal() and len(word) < 7 for word in words):
        raise ValueError(f"{typed!r} heads to keep; one or more whole numbers are needed")
    keeps = sorted({int(word) for word in words}, reverse=True)
    return EqualKRun(
        choice.model, keeps, ways, list(range(n_seeds)), n_steps=steps[0], finetune=steps[1],
        training={"rate": 5e-4}, **choice.judged,
    )  # fmt: skip


def _show_entries(run_id: str, alive: bool) -> None:
    """What is measured so far; the page begins anew once the run has ended."""
    run: Run = store().get(run_id)
    if alive and run.ended:
        st.rerun()
    if alive:
        st.progress(run.share, plain(progress_line(run, time.time())))
    entries = store().points(run_id)
    if not entries:
        st.caption("The first entry will show here when it is measured.")
        return
    full = run.result["full"] if run.result else None
    better = run.result["higher_is_better"] if run.result else entries[0]["trained"]["metric"] != "perplexity"
    n_seeds = len({entry["seed"] for entry in entries})
    st.html(
        f'<h2 class="hl-card-title">{escape(comparison_title(entries, better))}</h2>'
        f'<p class="hl-source">Test, {n_seeds} seeds, bars from the lowest to the highest · the two regimes are never '
        "to be mixed</p>"
    )
    for column, (regime, text) in zip(st.columns(2), REGIMES.items(), strict=True):
        with column:
            st.html(f'<b class="hl-source">{text[:1].upper()}{text[1:]}</b>')
            show_chart(comparison_figure(entries, regime, full, theme()), f"equal-{regime}")
    st.dataframe(pd.DataFrame(comparison_rows(entries)), hide_index=True, height="content", key="equal-table")
