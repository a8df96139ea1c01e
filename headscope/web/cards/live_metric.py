"""What the model can still do under the mask that is being edited: asked at once, answered in two steps."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import Any

import streamlit as st

from headscope.runs.client import submit, wait
from headscope.runs.kinds.live import LiveQuery
from headscope.runs.run import CANCELLED, DONE, FAILED, Run
from headscope.web.charts.metric_text import NO_CHANGE, change_text, metric_text, range_text, share_text
from headscope.web.page.choice import Choice
from headscope.web.runs.requests import store

ASKED = "live-run"
"""The run that the page waits for."""

WORK = "Operations"
PATIENCE = 0.9
"""Seconds that the page waits for a first number before it draws what else shows the mask."""


def ask(choice: Choice, mask: str) -> Run:
    """Asks for the metric of a mask; what was asked for the mask before and is not answered yet is given up."""
    wanted = LiveQuery(choice.model, mask, **choice.judged).as_run(store().folder).id
    before = st.session_state.get(ASKED)
    if mask and before not in (None, wanted):
        store().cancel(before)
    st.session_state[ASKED] = wanted if mask else None  # the unpruned model is needed whatever the mask
    return current(choice, mask)


def unpruned(choice: Choice) -> Run:
    """The same for the model as it is."""
    return current(choice, "")


def measured(choice: Choice, mask: str) -> dict[str, Any] | None:
    """The point of a mask that was asked for before; it is asked for again if it was forgotten."""
    return point_of(begun(current(choice, mask)))


def begun(run: Run) -> Run:
    """The run as soon as it has a number or has ended, or as it is when the page must go on."""
    return wait(store(), run, PATIENCE, lambda now: bool(store().points(now.id)))


def current(choice: Choice, mask: str) -> Run:
    """The question about a mask as it is now, which is asked if it was not or was given up."""
    run = submit(store(), LiveQuery(choice.model, mask, **choice.judged))
    if run.state != CANCELLED:
        return run
    store().resume(run.id)
    return store().get(run.id)


def point_of(run: Run) -> dict[str, Any] | None:
    """The newest that is known: the whole split, the quick estimate, or nothing yet; a first point says it is quick."""
    if run.state == FAILED:
        raise ValueError(run.message)
    if run.state == DONE:
        return run.result
    points = store().points(run.id)
    return {**points[-1], "quick": len(points) == 1} if points else None


def tiles_html(point: dict[str, Any] | None, full: dict[str, Any] | None, heads: tuple[int, int]) -> str:
    """Heads kept, the metric with its interval and what was lost, parameters, and the work of a forward pass."""
    kept, total = heads
    gone = total - kept
    tiles = [Tile("Heads kept", f"{kept} / {total}", f"\N{MINUS SIGN}{gone}" if gone else "all of them")]
    if point is None:
        line = "\N{NO-BREAK SPACE}"  # as high as with an interval, so that nothing below moves when it comes
        tiles += [Tile(name, "…", "measuring …", line) for name in ("Metric", "Parameters", WORK)]
    else:
        tiles += [metric_tile(point, full), _size_tile(point, full), _work_tile(point, full)]
    return '<div class="hl-numbers">' + "".join(_tile_html(tile) for tile in tiles) + "</div>"


@dataclass(frozen=True)
class Tile:
    """A number under its name, what is to be said of it at once, and a line below; `mood` is that of the first."""

    name: str
    value: str
    note: str
    below: str = ""
    mood: str = ""


def _tile_html(tile: Tile) -> str:
    below = f"<small>{escape(tile.below)}</small>" if tile.below else ""
    return (
        f"<div><span>{escape(tile.name)}</span><b>{escape(tile.value)}</b>"
        f'<em class="{tile.mood}">{escape(tile.note)}</em>{below}</div>'
    )


def metric_tile(point: dict[str, Any], full: dict[str, Any] | None) -> Tile:
    """The metric with its interval; a quick estimate says so, and is compared with nothing."""
    name = point["metric"]
    named, value = name[:1].upper() + name[1:], metric_text(name, point["value"])
    interval = range_text(name, point["low"], point["high"])
    whole = full if full is not None and not is_quick(full, None) else None
    if is_quick(point, whole):
        of_all = f" of {whole['n']}" if whole else ""
        return Tile(named, f"≈ {value}", f"first {point['n']}{of_all}", f"95\N{NO-BREAK SPACE}%: {interval}")
    if whole is None or not point["removed"]:
        return Tile(named, value, interval, "95\N{NO-BREAK SPACE}% interval")
    change = change_text(name, point["value"] - whole["value"])
    note = change if change == NO_CHANGE else f"{change} · {chance_text(point['p'])}"
    mood = "hl-bad" if point["worse"] else ""
    return Tile(named, value, note, f"95\N{NO-BREAK SPACE}%: {interval}", mood)


def is_quick(point: dict[str, Any], whole: dict[str, Any] | None) -> bool:
    """Whether a point stands for the first examples only, as far as can be known."""
    return bool(point["n"] < whole["n"] if whole else point.get("quick"))


def chance_text(p: float) -> str:
    """A p-value as papers print it."""
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}" if p < 0.1 else f"p = {p:.2f}"


def _size_tile(point: dict[str, Any], full: dict[str, Any] | None) -> Tile:
    value = f"{point['parameters'] / 1e6:.2f}\N{NO-BREAK SPACE}M"
    saved = 1 - point["parameters"] / full["parameters"] if full else 0.0
    return Tile("Parameters", value, f"\N{MINUS SIGN}{share_text(saved, 1)}" if saved else "all of them")


def _work_tile(point: dict[str, Any], full: dict[str, Any] | None) -> Tile:
    """Counted operations are no time, so the tile says what they predict; the Speed tab measures it."""
    whole = full["flops"] if full else point["flops"]
    share = point["flops"] / whole if whole else 1.0
    below = f"predicted speed {1 / share:.2f}\N{NO-BREAK SPACE}×" if 0 < share < 1 else "counted, not timed"
    return Tile(WORK, share_text(share), f"{point['flops'] / 1e6:,.0f} MFLOP a pass", below)
