"""Sweeps beside the mask that is being edited: start one, watch its curve grow, and see where the mask stands."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import fields
from html import escape
from typing import Any, Literal, get_args, get_origin, get_type_hints

import pandas as pd
import streamlit as st

from headscope.models.loading.fingerprint import fingerprint
from headscope.pruning.search.strategy import SCORES, Strategy, strategies
from headscope.runs.client import submit, wait
from headscope.runs.kinds.sweep import SweepRun
from headscope.runs.learned_scores import SOURCES, newest
from headscope.runs.run import DONE, FAILED, RESUMABLE, WAITING, Run, progress_line
from headscope.runs.store import Store
from headscope.web.charts.curves import Chart, Curve, pruning_chart
from headscope.web.forms.method_form import option_widget
from headscope.web.page.choice import Choice
from headscope.web.page.errors import by_click
from headscope.web.page.markdown import plain
from headscope.web.page.shell import show_chart, theme
from headscope.web.runs.requests import store

STEPS = {"one head at a time": 0.0, "every 2 %": 0.02, "every 5 %": 0.05, "every 10 %": 0.1}
PATIENCE = 1.0
"""Seconds in which a sweep mostly ends once it is cancelled."""

OPEN = "open-sweep-form"
"""Where the session keeps the model whose form stands open on the page."""

SEVERAL = 3
"""Curves of earlier sweeps that are drawn beside the newest."""


def sweeps_of(kept: Store, choice: Choice) -> list[Run]:
    """The sweeps of this model on this task, the newest first."""
    judged = choice.judged
    return [
        run
        for run in kept.runs(kind=SweepRun.key)
        if run.model == choice.model and all(run.spec[name] == value for name, value in judged.items())
    ]


def order_name(run: Run) -> str:
    """What a sweep removes first, in a few words."""
    spec = run.spec
    strategy = strategies()[spec["strategy"]]
    method = spec["method"].replace("_", " ")
    named = strategy.title + (f", {method}" if SCORES in strategy.needs else "")
    if spec["strategy"] == "score":
        named = method.capitalize()
    settings = "".join(f", {name.replace('_', ' ')} {value}" for name, value in spec["settings"].items())
    return named + settings + (f", {spec['banks']} only" if spec["banks"] else "")


def split_points(points: Sequence[dict[str, Any]]) -> tuple[list[dict[str, Any]], list[list[dict[str, Any]]]]:
    """The points of the order itself, and those of each random order; each from few to many heads removed."""
    series: dict[str, list[dict[str, Any]]] = {}
    for point in sorted(points, key=lambda one: one["removed"]):
        series.setdefault(point["series"], []).append(point)
    order = series.pop("order", [])
    return order, [[order[0], *run] if order and not order[0]["removed"] else run for run in series.values()]


def finding(run: Run, order: Sequence[dict[str, Any]]) -> str:
    """What the curve says so far, from its own numbers."""
    worse = next((point for point in order if point["worse"]), None)
    fine = [point for point in order if worse is None or point["removed"] < worse["removed"]]
    if not fine:
        return f"{order_name(run)}: no point yet"
    last = fine[-1]
    if worse is None:
        return f"{order_name(run)}: {last['removed']} heads gone, not significantly worse yet"
    if not last["removed"]:
        return f"{order_name(run)}: the first {worse['removed']} heads already cost something"
    return f"{order_name(run)}: {last['removed']} heads go before it gets significantly worse"


def show_sweeps(runs: Sequence[Run], here: dict[str, Any]) -> None:
    """The newest sweep with its progress, earlier ones beside it, and the place of the mask.

    The slots are always the same: an element that comes between others of a running fragment leaves stale copies.
    """
    title, state, chart = st.empty(), st.empty(), st.empty()
    newest = shown_sweep(runs)
    points = {run.id: split_points(store().points(run.id)) for run in [newest, *_others(runs, newest)]}
    order, random = points[newest.id]
    title.html(
        f'<h2 class="hl-card-title">{escape(finding(newest, order))}</h2>'
        f'<p class="hl-source">{escape(_source(newest, order))}</p>'
    )
    if newest.state in WAITING:
        state.progress(newest.share, plain(progress_line(newest, time.time())))
    if not order:
        return
    curves = [Curve(order_name(newest), order)]
    curves += [Curve(order_name(run), points[run.id][0]) for run in _others(runs, newest) if points[run.id][0]]
    full = order[0] if not order[0]["removed"] else None
    figure = pruning_chart(Chart(curves, random, full, here), theme())
    show_chart(figure, "sweep-chart", chart)


def show_sweep_numbers(run: Run) -> None:
    """The points of a sweep as a file.

    Outside of what runs every second, and once the sweep has ended: a file that changes with every point is gone when
    a slow browser asks for it.
    """
    points = store().points(run.id) if run.ended else []
    if points:
        st.download_button(
            "Numbers as CSV",
            data=pd.DataFrame(points).to_csv(index=False),
            file_name=f"sweep-{run.id}.csv",
            mime="text/csv",
            key="sweep-csv",
            on_click="ignore",
            type="tertiary",
        )


def newest_order(choice: Choice) -> list[dict[str, Any]]:
    """The curve of the sweep that the page shows, as far as it is known."""
    runs = sweeps_of(store(), choice)
    return split_points(store().points(shown_sweep(runs).id))[0] if runs else []


def shown_sweep(runs: Sequence[Run]) -> Run:
    """The sweep of the link, or the newest."""
    return next((run for run in runs if run.id == st.query_params.get("sweep")), runs[0])


def _others(runs: Sequence[Run], newest: Run) -> list[Run]:
    seen = {order_name(newest)}
    others = []
    for run in runs:
        if order_name(run) not in seen and run.state == DONE:
            seen.add(order_name(run))
            others.append(run)
    return others[:SEVERAL]


def _source(run: Run, order: Sequence[dict[str, Any]]) -> str:
    spec = run.spec
    n = f"{order[0]['n']} examples" if order else "all examples"
    return f"{spec['split']}, {n} · run {run.id[:6]}, saved as it goes"


def show_sweep_button(run: Run) -> None:
    """Ends a sweep, or takes it up again; outside of what runs every second, which would swallow clicks."""
    if run.state in WAITING:
        stop = _stop, run.id
        st.button("Cancel", key="cancel-sweep", on_click=by_click, args=stop, icon=":material/stop_circle:")
    elif run.state in RESUMABLE:
        st.warning(plain(run.message if run.state == FAILED else f"This sweep was {run.state}; its points are kept."))
        st.button("Resume", key="resume-sweep", on_click=by_click, args=(store().resume, run.id))


def _stop(run_id: str) -> None:
    """Cancels a run, and waits a moment for it to end, so that the page is drawn once and not twice."""
    store().cancel(run_id)
    wait(store(), store().get(run_id), PATIENCE)


def is_form_open(choice: Choice, runs: Sequence[Run]) -> bool:
    """Whether the form stands on the page: where nothing was swept, and then until this session starts a sweep.

    A sweep that somebody else starts would otherwise take the form away while it is filled in.
    """
    if not runs:
        st.session_state[OPEN] = choice.model
    return bool(st.session_state.get(OPEN) == choice.model)


def sweep_form(choice: Choice, methods: dict[str, str], banks: Sequence[str]) -> None:
    """What to remove first, in which steps, and the button that starts it."""
    known = {strategy.title: strategy for strategy in strategies().values()}
    strategy = known[
        st.selectbox("Order", list(known), list(known).index(strategies()["score"].title), key="sweep-order")
    ]
    st.caption(strategy.about)
    left, right = st.columns(2)
    method = "gradient"
    if SCORES in strategy.needs:
        method = left.selectbox("Scores", list(methods), format_func=methods.__getitem__, key="sweep-method")
    step = right.selectbox("Points", list(STEPS), 2, key="sweep-step")
    bank = left.selectbox("Heads of", ["all banks", *banks], key="sweep-bank") if len(banks) > 1 else "all banks"
    with right:
        settings = _settings(strategy)
    if st.button("Start the sweep", key="start-sweep", type="primary", icon=":material/play_arrow:"):
        learned = newest(store().folder, fingerprint(choice.model), method, choice.judged) if method in SOURCES else ""
        wanted = SweepRun(
            choice.model,
            strategy=strategy.key,
            method=method,
            options={"run": learned} if learned else {},
            settings=settings,
            banks="" if bank == "all banks" else bank,
            step=STEPS[step],
            **choice.judged,
        )
        run = submit(store(), wanted)
        if run.state in RESUMABLE:
            store().resume(run.id)
        st.query_params["sweep"] = run.id
        st.session_state.pop(OPEN, None)
        st.rerun()


def _settings(strategy: type[Strategy]) -> dict[str, Any]:
    """A widget for every option of a strategy; gives those that are not as usual."""
    hints = get_type_hints(strategy)
    chosen = {}
    for field in fields(strategy):
        choices = list(get_args(hints[field.name])) if get_origin(hints[field.name]) is Literal else []
        about = field.metadata.get("about", "")
        option = {"name": field.name, "default": field.default, "about": about, "choices": choices}
        value = option_widget(strategy.key, option)
        if value != field.default:
            chosen[field.name] = value
    return chosen
