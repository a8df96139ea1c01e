"""Everything that was computed, by any tab or shell: what it was, how far it is, and what came of it."""

import time

import pandas as pd
import streamlit as st

from jobs.run import RESUMABLE, WAITING, Run, duration, progress_line
from ui.asking import store
from ui.model_facts import facts_html
from ui.run_facts import headline, record_facts
from ui.shell import begin_page, one_sentence

DAY = 86_400


def table(runs: list[Run], now: float) -> pd.DataFrame:
    """One row a run."""
    return pd.DataFrame(
        {
            "Run": [run.title for run in runs],
            "State": [run.state if run.ended else f"{100 * run.share:.0f} %" for run in runs],
            "Result": [headline(run) for run in runs],
            "Took": [duration(run.seconds(now)) if run.started else "" for run in runs],
            "Asked": [pd.Timestamp(run.created, unit="s", tz="UTC") for run in runs],
        }
    )


def act(what: str, run_id: str) -> None:
    """Cancels, resumes or deletes a run; what cannot be done is said on the page."""
    try:
        getattr(store(), what)(run_id)
    except (ValueError, KeyError) as error:
        st.session_state["refused"] = str(error.args[0])


def show_actions(run: Run) -> None:
    """What can be done with a run, and what is known of it."""
    st.html(f'<h2 class="hl-card-title">{run.title}</h2>' + facts_html(record_facts(run)))
    if run.message:
        st.info(run.message)
    buttons = st.columns(2)
    if run.state in WAITING:
        buttons[0].button("Cancel", key="cancel", on_click=act, args=("cancel", run.id), width="stretch")
    if run.state in RESUMABLE:
        buttons[0].button("Resume", key="resume", on_click=act, args=("resume", run.id), width="stretch")
    if run.ended:
        buttons[1].button("Delete", key="delete", on_click=act, args=("delete", run.id), width="stretch")


@st.fragment(run_every=1.0)
def show_runs() -> None:
    """The table, and beside it the run that was picked in it or that the link names."""
    now = time.time()
    runs = store().runs()
    left, right = st.columns([2.3, 1])
    with left.container(border=True, key="history"):
        if not runs:
            st.html('<h2 class="hl-card-title">Nothing was computed yet</h2>')
            st.caption("Open a model: scoring its heads is the first run.")
            return
        waiting = [run for run in runs if run.state in WAITING]
        counted = "1 run" if len(runs) == 1 else f"{len(runs)} runs"
        st.html(f'<h2 class="hl-card-title">{counted}, {len(waiting)} under way</h2>')
        event = st.dataframe(
            table(runs, now),
            key="runs",
            hide_index=True,
            on_select="rerun",
            selection_mode="single-row",
            height="content" if len(runs) < 14 else 560,
            column_config={
                "State": st.column_config.TextColumn(width=70),
                "Took": st.column_config.TextColumn(width=60),
                "Asked": st.column_config.DatetimeColumn(format="distance"),
            },
        )
    picked = event.selection.rows
    linked = next((run for run in runs if run.id == st.query_params.get("run")), None)
    chosen = runs[picked[0]] if picked and picked[0] < len(runs) else linked or runs[0]
    if picked:
        st.query_params["run"] = chosen.id
    with right.container(border=True, key="picked-run"):
        if chosen.state in WAITING:
            st.progress(chosen.share, progress_line(chosen, now))
        show_actions(chosen)


choice = begin_page("Runs", "What was computed on this machine, in any tab or shell. Finished runs are shown at once.")
refused = st.session_state.pop("refused", "")
if refused:
    st.error(refused)
with one_sentence():
    show_runs()
with st.popover("Delete old runs"):
    days = st.number_input("Older than so many days", 0, 3650, 30, key="days")
    if st.button("Delete them", key="prune"):
        st.toast(f"{store().prune(days * DAY)} runs deleted")
        st.rerun()
