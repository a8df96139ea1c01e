"""What the controls of lessons share: the live number, scores, runs that are followed, charts at presenter size."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from html import escape
from typing import Any

import plotly.graph_objects as go
import streamlit as st

from headscope.analysis.importance.scores import Scores
from headscope.models.heads import HeadGrid, HeadId
from headscope.runs.client import submit, wait
from headscope.runs.kind import Kind
from headscope.runs.kinds.facts import FactsQuery
from headscope.runs.kinds.importance import ImportanceRun
from headscope.runs.kinds.live import LiveQuery
from headscope.runs.run import CANCELLED, FAILED, Run, progress_line
from headscope.web.cards.head_card import pick_head
from headscope.web.cards.live_metric import ask, begun, chance_text, point_of, unpruned
from headscope.web.charts.metric_text import NO_CHANGE, change_text, metric_text
from headscope.web.grid.head_grid import GridStyle
from headscope.web.lessons.control import Stage
from headscope.web.page.choice import Choice
from headscope.web.page.errors import by_click, told
from headscope.web.page.markdown import plain
from headscope.web.runs.polling import poll_every
from headscope.web.runs.requests import PATIENCE, answered, show_ended, store

Point = Mapping[str, Any]
BIG_TICK, BIG_TITLE, BIG_LINE = 18, 20, 5
HOLLOW = "hollow = removed"
SIGNIFICANT = 0.01
"""A change counts below this p-value, as everywhere."""


def grid_of(choice: Choice) -> HeadGrid | None:
    """The heads of the model, once it was looked at."""
    asked = answered(FactsQuery(choice.model))
    return None if asked is None else HeadGrid.from_json(asked.found["grid"])


def scores_of(choice: Choice, method: str) -> dict[HeadId, float]:
    """The scores of a method, once they are there; until then its progress stands here."""
    run = answered(ImportanceRun(choice.model, method=method, **choice.judged))
    return {} if run is None else dict(Scores.from_json(run.found).values)


def live(choice: Choice, mask: str) -> tuple[dict[str, Any] | None, dict[str, Any] | None]:
    """The newest that is known of a mask and of the full model; the page runs again when both are whole."""
    run, full = begun(ask(choice, mask)), unpruned(choice)
    if not (run.ended and full.ended):
        _wait_for(choice, mask)
    return point_of(run), point_of(full) if full.ended else None


@poll_every(0.4)
@told
def _wait_for(choice: Choice, mask: str) -> None:
    if ask(choice, mask).ended and unpruned(choice).ended:
        st.rerun()


def points_of(choice: Choice, masks: Sequence[str]) -> list[dict[str, Any] | None]:
    """The points of several masks, as far as they are known; the page runs again whenever there are more."""
    runs = [_submitted(choice, mask) for mask in masks]
    runs = [wait(store(), run, PATIENCE / len(runs)) for run in runs]
    ended = sum(run.ended for run in runs)
    if ended < len(runs):
        _wait_for_more([run.id for run in runs], ended)
    return [point_of(run) if run.ended else None for run in runs]


def _submitted(choice: Choice, mask: str) -> Run:
    run = submit(store(), LiveQuery(choice.model, mask, **choice.judged))
    if run.state == CANCELLED:
        store().resume(run.id)
        run = store().get(run.id)
    return run


@poll_every(0.5)
@told
def _wait_for_more(run_ids: list[str], ended: int) -> None:
    now = sum(store().get(run_id).ended for run_id in run_ids)
    st.html(f'<p class="hl-source">measured {now} of {len(run_ids)}</p>')
    if now > ended:
        st.rerun()


def followed(kind: Kind, draw: Callable[[Run], None]) -> Run | None:
    """A run that is drawn while it goes on, started if need be; given back once it is done."""
    run = submit(store(), kind)
    if run.state == FAILED:
        st.button("Try again", key=f"again-{run.id}", on_click=by_click, args=(store().resume, run.id))
        raise ValueError(run.message)
    if run.ended and run.result is None:
        show_ended(run)
        return None
    if run.ended:
        draw(run)
        return run
    _follow(run.id, draw)
    return None


@poll_every(0.8)
@told
def _follow(run_id: str, draw: Callable[[Run], None]) -> None:
    state, body = st.empty(), st.container()
    run = store().get(run_id)
    if run.ended:
        st.rerun()
    state.progress(run.share, plain(progress_line(run, time.time())))
    with body:
        draw(run)


def number_html(point: Point | None, full: Point | None) -> str:
    """The metric in large figures, beside that of the full model."""
    if point is None:
        return big_html("…", "measuring")
    name = str(point["metric"])
    quick = full is not None and point["n"] < full["n"]
    whole = f", of {metric_text(name, full['value'])}" if full is not None else ""
    return big_html(f"{'≈ ' if quick else ''}{metric_text(name, point['value'])}", f"{name}{whole}")


def big_html(number: str, what: str) -> str:
    """A number in large figures, and what it is."""
    return f'<div class="hl-big"><b>{escape(number)}</b><span>{escape(what)}</span></div>'


def grid_beside(stage: Stage, number: str, grid: HeadGrid, look: GridStyle, note: str = "") -> HeadId | None:
    """A number at the left and beside it a small grid; gives the head that is picked there."""
    row = stage.left.container(horizontal=True, vertical_alignment="center", gap="medium")
    row.html(number, width="content")
    with row.container(width="content"):
        head = pick_head(grid, look, stage.key("grid"))
        if note:
            st.html(f'<p class="hl-source">{escape(note)}</p>')
    return head


def change_of(point: Point | None, full: Point | None) -> str:
    """What a mask costs, with its chance, once both were measured whole."""
    if point is None or full is None or point["n"] < full["n"]:
        return ""
    change = change_text(str(point["metric"]), point["value"] - full["value"])
    return change if change == NO_CHANGE else f"{change}, {chance_text(point['p'])}"


def lost(point: Point, full: Point) -> float:
    """How much worse than the full model, whichever way the metric goes."""
    difference = float(full["value"] - point["value"])
    return difference if full["higher_is_better"] else -difference


def significantly_worse(change: Mapping[str, Any], result: Mapping[str, Any]) -> bool:
    """Whether a paired comparison of a run says that its metric fell, and that chance does not explain it."""
    fell = change["difference"] < 0 if result["higher_is_better"] else change["difference"] > 0
    return bool(fell and change["p_value"] < SIGNIFICANT)


def title_html(title: str, source: str) -> str:
    """The finding and where it comes from, above a picture."""
    return f'<h2 class="hl-card-title">{escape(title)}</h2><p class="hl-source">{escape(source)}</p>'


def verdict_html(good: bool, text: str) -> str:
    """Whether an answer is right, in a line that stands out."""
    return f'<p class="hl-verdict-line{" hl-good" if good else ""}" role="status">{escape(text)}</p>'


def show_chart(stage: Stage, figure: go.Figure, name: str) -> None:
    """A chart, with larger type and thicker lines for a projector."""
    if stage.big:
        figure.update_layout(font={"size": BIG_TITLE}, legend={"font": {"size": BIG_TITLE}}, height=520)
        figure.update_xaxes(tickfont={"size": BIG_TICK}, title={"font": {"size": BIG_TITLE}})
        figure.update_yaxes(tickfont={"size": BIG_TICK}, title={"font": {"size": BIG_TITLE}})
        figure.update_annotations(font={"size": BIG_TICK})
        figure.update_traces(line={"width": BIG_LINE}, selector=lambda one: one.type == "scatter" and _is_drawn(one))
    st.plotly_chart(figure, config={"displayModeBar": False}, key=stage.key(name))


def _is_drawn(trace: Any) -> bool:
    """A line that is seen; bands are made of lines without width."""
    return bool(trace.line.width)


def heads_text(n: int) -> str:
    """A number of heads in words."""
    return "1 head" if n == 1 else f"{n} heads"
