"""Everything that was computed, by any tab or shell: what it was, how far it is, what came of it, and side by side."""

import time
from contextlib import suppress
from html import escape
from typing import Any

import pandas as pd
import streamlit as st

from headscope.runs.client import submit
from headscope.runs.kind import kind_of
from headscope.runs.kinds.methods import MethodsQuery, code_mark
from headscope.runs.run import DONE, RESUMABLE, WAITING, Run, duration, progress_line
from headscope.runs.store import Store
from headscope.web.cards.model_facts import facts_html
from headscope.web.cards.sweep_card import split_points
from headscope.web.charts.curves import (
    LATENCY,
    OPERATIONS,
    PARAMETERS,
    Chart,
    pareto_chart,
    pareto_front,
    pruning_chart,
)
from headscope.web.page.errors import by_click, one_sentence, sentence, told
from headscope.web.page.markdown import plain
from headscope.web.page.shell import begin_page, show_chart, theme
from headscope.web.report.report import Reported, report_html, tables_zip
from headscope.web.runs.compared_runs import Compared, compared, front_title, has_curve, timed, timing_of
from headscope.web.runs.polling import paced, poll_every
from headscope.web.runs.requests import known, store
from headscope.web.runs.run_facts import Glance, glance, headline, record_facts

DAY = 86_400
AXES = {"Parameters": PARAMETERS, "Operations": OPERATIONS, "Measured time": LATENCY}


@st.cache_resource(show_spinner=False, max_entries=5000)
def came_of(run_id: str, mark: tuple[object, ...], _store: Store) -> tuple[str, tuple[float, ...]]:
    """The result of a run in a few words, and the values of its curve if it has one.

    Kept for all pages: a result is long to read, and every open table shows those of all runs. `mark` is what they
    depend on.
    """
    del mark
    run = _store.get(run_id)
    try:
        order = split_points(_store.points(run_id))[0] if has_curve(run) else []
        return headline(run), tuple(point["value"] for point in order)
    except (ValueError, KeyError) as error:  # one broken run hides no other
        return run.message or sentence(error), ()


def table(runs: list[Run], now: float) -> pd.DataFrame:
    """One row a run; those with a curve show it."""
    told = [came_of(run.id, (run.state, run.finished, run.done, run.message), store()) for run in runs]
    return pd.DataFrame(
        {
            "Run": [run.title for run in runs],
            "State": [run.state if run.ended else f"{100 * run.share:.0f} %" for run in runs],
            "Result": [words for words, _ in told],
            "Curve": [list(curve) for _, curve in told],
            "Took": [duration(run.seconds(now)) if run.started else "" for run in runs],
            "Asked": [pd.Timestamp(run.created, unit="s", tz="UTC") for run in runs],
        }
    )


def rename(run_id: str) -> None:
    """Takes the name that was typed."""
    by_click(lambda: store().rename(run_id, st.session_state[f"name-{run_id}"]))


def show_actions(run: Run) -> None:
    """What can be done with a run, and what is known of it."""
    st.html(f'<h2 class="hl-card-title">{escape(run.title)}</h2>')
    if not store().shared:
        st.text_input("Name", run.title, key=f"name-{run.id}", on_change=rename, args=(run.id,), max_chars=120)
    st.html(facts_html(record_facts(run)))
    if run.message:
        st.info(plain(run.message))
    command = ""
    with suppress(ValueError, KeyError):  # of a broken run, or of a kind that is no more
        command = kind_of(run).command
    if command:
        st.caption("The same from a shell:")
        st.code(command, language=None, wrap_lines=True)
    buttons = st.columns(2)
    if run.state in WAITING:
        buttons[0].button("Cancel", key="cancel", on_click=by_click, args=(store().cancel, run.id), width="stretch")
    if run.state in RESUMABLE:
        buttons[0].button("Resume", key="resume", on_click=by_click, args=(store().resume, run.id), width="stretch")
    if run.ended and not store().shared:
        buttons[1].button("Delete", key="delete", on_click=by_click, args=(store().delete, run.id), width="stretch")


def show_charts(together: Compared) -> None:
    """The curves of the ticked runs on one chart, and which of their models are worth keeping."""
    left, right = st.columns([1.3, 1])
    with left.container(border=True, height="stretch"):
        st.html(
            f'<h2 class="hl-card-title">{together.finding}</h2>'
            f'<p class="hl-source">{together.source}, 95 % intervals · {drawn_as(together)}</p>'
        )
        chart = Chart(together.curves, together.random, together.full)
        show_chart(pruning_chart(chart, theme()), "compare-chart")
    with right.container(border=True, height="stretch"):
        named = st.segmented_control("Against", list(AXES), default="Parameters", key="pareto-axis", required=True)
        curves = together.curves
        if named == "Measured time":
            show_timing(together)
            curves = timed(store(), together.runs[0].model, together.curves)
        higher = together.higher_is_better
        front = pareto_front([point for curve in curves for point in curve.points], AXES[named], higher)
        if front:
            st.html(
                f'<h2 class="hl-card-title">{front_title(len(front))}</h2>'
                f'<p class="hl-source">{together.source} · one mark a model, filled: trained, open: without training · '
                "bars are 95 % intervals</p>"
            )
            show_chart(pareto_chart(curves, AXES[named], higher, theme()), "pareto-chart")
    for reason in together.left_out:
        st.caption(plain(f"Not drawn: {reason}"))


def drawn_as(together: Compared) -> str:
    """What the kinds of lines on the chart mean, of those that are there."""
    trained = [curve.trained for curve in together.curves]
    told = [*["solid: trained"][: any(trained)], *["dashed: without training"][: not all(trained)]]
    n = len(together.random)
    return " · ".join([*told, *([f"grey: {n} random orders"] if n else [])])


def show_timing(together: Compared) -> None:
    """Starts the timing of the models on the front by parameters, which are few."""
    model = together.runs[0].model
    front = pareto_front(together.points, PARAMETERS, together.higher_is_better)
    front = [point for point in front if point["mask"]]
    missing = [timing_of(model, point["mask"]) for point in front]
    missing = [kind for kind in missing if not _is_done(kind.as_run(store().folder).id)]
    if missing and st.button(f"Time {len(missing)} models of the front, batch 16", key="time-front"):
        for kind in missing:
            submit(store(), kind)


def _is_done(run_id: str) -> bool:
    try:
        return store().get(run_id).state == DONE
    except KeyError:
        return False


@st.cache_resource(show_spinner=False, max_entries=8)
def files_of(marks: tuple[tuple[str, ...], ...], _runs: list[Run], _methods: dict[str, Any]) -> tuple[bytes, bytes]:
    """The report and the tables of runs; `marks` tell whether anything about them has changed.

    A resource: a report has megabytes, and of a value each turn of each page would get a copy.
    """
    del marks
    reported = [Reported.of(store(), run) for run in _runs]
    return report_html(reported, compared(store(), _runs), _methods).encode(), tables_zip(reported)


def marks_of(runs: list[Run]) -> tuple[tuple[str, ...], ...]:
    """What a report of runs depends on, but for the points that one under way still gets."""
    return tuple((run.id, run.title, run.state, str(run.finished)) for run in runs)


def sound(runs: list[Run]) -> list[Run]:
    """Those that can be read."""
    return [run for run in runs if not run.broken]


def described_methods() -> dict[str, Any]:
    """The importance methods as the registry tells them, if somebody has asked for them before."""
    answer = known(MethodsQuery("", code_mark()))
    return {one["key"]: one for one in answer.found["methods"]} if answer else {}


def show_downloads(runs: list[Run]) -> None:
    """The ticked runs as one file to take home, and their tables.

    The files are made before the click and are the same bytes each time the page runs. What a button makes on the click
    belongs to nobody: Streamlit throws it away at the second run of any fragment, which may come before the browser.
    """
    st.session_state["reported"] = marks_of(runs)
    runs = sound(runs)
    if not runs:
        return
    methods = described_methods()
    done = tuple((str(run.done),) for run in runs)
    report, tables = files_of((*marks_of(runs), *done, tuple(methods)), runs, methods)
    row = st.container(horizontal=True)
    row.download_button(
        "Report",
        data=report,
        file_name="headscope-report.html",
        mime="text/html",
        key="report",
        type="primary",
        icon=":material/description:",
        on_click="ignore",
    )
    row.download_button(
        "Tables",
        data=tables,
        file_name="headscope-tables.zip",
        mime="application/zip",
        key="report-csv",
        icon=":material/table:",
        on_click="ignore",
    )


def chosen_of(known: list[str]) -> list[str]:
    """The ids that the link names, or the newest."""
    named = st.query_params.get("run", "").split(" ")
    return [one for one in known if one in named] or known[:1]


@told
def show_runs() -> None:
    """The table, beside it the run that was ticked last or that the link names, and the ticked ones compared."""
    now = time.time()
    runs = store().listed()
    if not runs:
        with st.container(border=True, key="history"):
            st.html('<h2 class="hl-card-title">Nothing was computed yet</h2>')
            st.caption("Open a model: scoring its heads is the first run.")
        return
    charts = st.container(key="charts")
    left, right = st.columns([2.3, 1])
    with left.container(border=True, key="history"):
        waiting = [run for run in runs if run.state in WAITING]
        counted = "1 run" if len(runs) == 1 else f"{len(runs)} runs"
        st.html(f'<h2 class="hl-card-title">{counted}, {len(waiting)} under way. Tick runs to compare them</h2>')
        event = st.dataframe(
            table(runs, now),
            key="runs",
            hide_index=True,
            on_select="rerun",
            selection_mode="multi-row",
            height="content" if len(runs) < 14 else 560,
            column_config={
                "State": st.column_config.TextColumn(width=70),
                "Run": st.column_config.TextColumn(width=270),
                "Result": st.column_config.TextColumn(width=220),
                "Curve": st.column_config.LineChartColumn(width=110),
                "Took": st.column_config.TextColumn(width=56),
                "Asked": st.column_config.DatetimeColumn(format="distance"),
            },
        )
    picked = " ".join(runs[place].id for place in event.selection.rows if place < len(runs))
    if picked and picked != st.query_params.get("run"):
        st.query_params["run"] = picked
        st.rerun()
    named = chosen_of([run.id for run in runs])
    chosen = [store().get(one) for one in named]
    if marks_of(chosen) != st.session_state.get("reported"):  # one has ended or got a name: so have the files
        st.rerun()
    together = compared(store(), sound(chosen))
    with charts:
        if together.curves:
            show_charts(together)
    with right.container(border=True, key="picked-run"):
        if chosen[-1].state in WAITING:
            st.progress(chosen[-1].share, plain(progress_line(chosen[-1], now)))
        show_actions(chosen[-1])


@poll_every(1.5)
@told
def wait_for_change(seen: Glance) -> None:
    """Draws the page anew once there is something else to see."""
    if glance(store()) != seen:
        st.rerun()


def show_page() -> None:
    """Files of the chosen runs, and the table with what belongs to it.

    A function: whatever a page itself gives a name stays with the session, and runs have long results.
    """
    seen = glance(store())
    chosen = [store().get(one) for one in chosen_of([str(one) for one, *_ in seen])]
    if chosen:  # outside of what runs every second, or a click may come between
        with one_sentence():
            show_downloads(chosen)
    moving = any(run.state in WAITING for run in chosen)  # only then a curve grows on the page
    st.fragment(show_runs, run_every=paced(2.0) if moving else None)()
    if not moving:
        wait_for_change(seen)


choice = begin_page("Runs", "What was computed on this machine, in any tab or shell. Tick runs to compare them.")
with one_sentence():
    show_page()
if not store().shared:
    with st.popover("Delete old runs"), one_sentence():
        days = st.number_input("Older than so many days", 0, 3650, 30, key="days")
        if st.button("Delete them", key="prune"):
            st.toast(plain(f"{store().prune(days * DAY)} runs deleted"))
            st.rerun()
