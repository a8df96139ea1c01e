"""What the model can still do under the mask that is being edited: asked at once, answered in two steps."""

from __future__ import annotations

from html import escape
from typing import Any

import streamlit as st

from jobs.client import submit, wait
from jobs.kinds.live import LiveQuestion
from jobs.run import CANCELLED, DONE, FAILED, Run
from ui.asking import store
from ui.choice import Choice
from ui.metric_text import NO_CHANGE, change_text, metric_text, range_text, share_text

ASKED = "live-run"
"""The run that the page waits for."""

PATIENCE = 0.2
"""Seconds that a click may wait before the page is drawn without the answer."""


def ask(choice: Choice, mask: str) -> Run:
    """Asks for the metric of a mask; what was asked for the mask before and is not answered yet is given up."""
    wanted = LiveQuestion(choice.model, mask, **choice.judged).as_run(store().folder).id
    before = st.session_state.get(ASKED)
    if mask and before not in (None, wanted):
        store().cancel(before)
    st.session_state[ASKED] = wanted if mask else None  # the unpruned model is needed whatever the mask
    return _answered(choice, mask, PATIENCE)


def unpruned(choice: Choice) -> Run:
    """The same for the model as it is."""
    return _answered(choice, "", PATIENCE)


def measured(choice: Choice, mask: str) -> dict[str, Any] | None:
    """The point of a mask that was asked for before; it is asked for again if it was forgotten."""
    return point_of(_answered(choice, mask, PATIENCE))


def _answered(choice: Choice, mask: str, patience: float) -> Run:
    run = submit(store(), LiveQuestion(choice.model, mask, **choice.judged))
    if run.state == CANCELLED:
        store().resume(run.id)
    return wait(store(), run, patience)


def point_of(run: Run) -> dict[str, Any] | None:
    """The newest that is known: the whole split, the quick estimate, or nothing yet."""
    if run.state == FAILED:
        raise ValueError(run.message)
    if run.state == DONE:
        return run.result
    points = store().points(run.id)
    return points[-1] if points else None


def tiles_html(point: dict[str, Any] | None, full: dict[str, Any] | None, heads: tuple[int, int]) -> str:
    """Heads kept, the metric with its interval and what was lost, parameters, and the work of a forward pass."""
    kept, total = heads
    gone = total - kept
    tiles = [("Heads kept", f"{kept} / {total}", f"\N{MINUS SIGN}{gone}" if gone else "all of them", "")]
    if point is None:
        waiting = "measuring …"
        tiles += [("Metric", "…", waiting, ""), ("Parameters", "…", waiting, ""), ("Work of a pass", "…", waiting, "")]
    else:
        tiles += [_metric_tile(point, full), _size_tile(point, full), _work_tile(point, full)]
    return '<div class="hl-numbers">' + "".join(_tile(*tile) for tile in tiles) + "</div>"


def _tile(name: str, value: str, note: str, mood: str) -> str:
    return f'<div><span>{escape(name)}</span><b>{escape(value)}</b><em class="{mood}">{escape(note)}</em></div>'


def _metric_tile(point: dict[str, Any], full: dict[str, Any] | None) -> tuple[str, str, str, str]:
    name = point["metric"]
    value = metric_text(name, point["value"])
    if full is None or not point["removed"]:
        return _named(name), value, range_text(name, point["low"], point["high"]), ""
    if point["n"] < full["n"]:
        return _named(name), f"≈ {value}", f"first {point['n']} of {full['n']}", ""
    change = change_text(name, point["value"] - full["value"])
    note = change if change == NO_CHANGE else f"{change} · {chance_text(point['p'])}"
    return _named(name), value, note, "hl-bad" if point["worse"] else ""


def chance_text(p: float) -> str:
    """A p-value as papers print it."""
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}" if p < 0.1 else f"p = {p:.2f}"


def _size_tile(point: dict[str, Any], full: dict[str, Any] | None) -> tuple[str, str, str, str]:
    value = f"{point['parameters'] / 1e6:.2f}\N{NO-BREAK SPACE}M"
    saved = 1 - point["parameters"] / full["parameters"] if full else 0.0
    return "Parameters", value, f"\N{MINUS SIGN}{share_text(saved, 1)}" if saved else "all of them", ""


def _work_tile(point: dict[str, Any], full: dict[str, Any] | None) -> tuple[str, str, str, str]:
    whole = full["flops"] if full else point["flops"]
    share = point["flops"] / whole if whole else 1.0
    return "Work of a pass", share_text(share), f"{point['flops'] / 1e6:,.0f} MFLOP", ""


def _named(metric: str) -> str:
    return metric[:1].upper() + metric[1:]
