"""The pruning curve beside random orders, with a slider for how far to go."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import streamlit as st

from headscope.models.heads import HeadGrid, HeadId
from headscope.runs.kinds.sweep import SweepRun
from headscope.runs.run import Run
from headscope.web.cards.sweep_card import split_points
from headscope.web.charts.curves import Chart, Curve, pruning_chart
from headscope.web.charts.metric_text import metric_text, share_text
from headscope.web.grid.head_grid import GridStyle
from headscope.web.grid.presets import least_important
from headscope.web.lessons.control import NOTHING, Control, Found, Stage, register
from headscope.web.lessons.parts import (
    HOLLOW,
    change_of,
    followed,
    grid_beside,
    grid_of,
    heads_text,
    live,
    number_html,
    scores_of,
    show_chart,
    title_html,
)
from headscope.web.page.choice import head_in_link
from headscope.web.page.shell import theme
from headscope.web.runs.requests import store

REVERSE = "reverse"
NAMES = {"score": "least important first", REVERSE: "most important first"}


@register
@dataclass(frozen=True)
class PruningCurve(Control):
    """A sweep of ten steps by a score, or by the same in reverse; `start` is where the slider stands at first.

    What is claimed is that the share `spared` of the heads can go.
    """

    strategy: str = "score"
    method: str = "gradient"
    banks: str = ""
    start: int = -1
    spared: float = 0.2

    key = "curve"

    def show(self, stage: Stage) -> Found:
        """The curve at the right; slider, number and grid at the left."""
        grid = grid_of(stage.choice)
        with stage.left:
            scores = scores_of(stage.choice, self.method) if grid is not None else {}
        if grid is None or not scores:
            return NOTHING
        own = {head: score for head, score in scores.items() if not self.banks or head.bank == self.banks}
        usual = self.start if self.start >= 0 else len(own) // (12 if self.strategy == REVERSE else 4)
        k = stage.slider("Heads removed", "k", 0, len(own), usual)
        point, full = self._show_number(stage, grid, scores, self._mask(grid, own, k))
        here = point if point is not None else {"removed": k, "metric": full["metric"] if full else ""}
        kind = SweepRun(
            stage.choice.model, strategy=self.strategy, method=self.method, banks=self.banks, step=0.1,
            **stage.choice.judged,
        )  # fmt: skip
        with stage.right.container(border=True):
            run = followed(kind, lambda one: self._draw(stage, one, here))
        head = head_in_link(grid)
        if run is None:
            return Found("", head=head)
        told = self._told(run.found, len(own), change_of(point, full), k)
        return Found(told, self.holds(run.found, len(own)), head)

    def holds(self, result: dict[str, Any], n_heads: int) -> bool | None:
        """Whether at least the share `spared` of the heads goes before a point is significantly worse."""
        if self.strategy == REVERSE:
            return None
        return _spared(result) >= self.spared * n_heads

    def _mask(self, grid: HeadGrid, scores: dict[HeadId, float], k: int) -> frozenset[HeadId]:
        if self.strategy == REVERSE:
            return frozenset(scores) - least_important(grid, scores, len(scores) - k)
        return least_important(grid, scores, k)

    def _show_number(
        self, stage: Stage, grid: HeadGrid, scores: dict[HeadId, float], mask: frozenset[HeadId]
    ) -> tuple[dict[str, Any] | None, dict[str, Any] | None]:
        with stage.left:
            point, full = live(stage.choice, grid.spell(mask))
        look = replace(GridStyle.of_scores(scores), off=mask, size="mini")
        grid_beside(stage, number_html(point, full), grid, look, HOLLOW)
        return point, full

    def _draw(self, stage: Stage, run: Run, here: dict[str, Any]) -> None:
        """The curve as far as it is known; the slots stay the same while it grows."""
        title, chart = st.empty(), st.container()
        order, random = split_points(store().points(run.id))
        title.html(title_html(*_finding(order, NAMES[self.strategy])))
        if order:
            drawn = Chart([Curve(NAMES[self.strategy].capitalize(), order)], random, order[0], here)
            with chart:
                show_chart(stage, pruning_chart(drawn, theme(), 400), "curve")

    def _told(self, result: dict[str, Any], n_heads: int, change: str, k: int) -> str:
        """How far it goes, and where the slider stands."""
        worse = result["first_worse"]
        at_slider = f" At your slider, {heads_text(k)} gone: {change}." if change and k else ""
        if worse is None:
            return f"no point of the curve is significantly worse.{at_slider}"
        fine = _spared(result)
        return (
            f"{fine} of {n_heads} heads ({share_text(fine / n_heads)}) go before a point of the curve is significantly "
            f"worse.{at_slider}"
        )


def _spared(result: dict[str, Any]) -> int:
    """How many heads are gone at the last point before the first that is significantly worse."""
    worse = result["first_worse"]
    gone = [one["removed"] for one in result["points"] if worse is None or one["removed"] < worse["removed"]]
    return int(max(gone, default=0))


def _finding(order: list[dict[str, Any]], named: str) -> tuple[str, str]:
    if not order:
        return "The curve will grow here in a moment", "a job that goes on when you leave the page"
    metric = order[0]["metric"]
    ends = " to ".join(metric_text(metric, point["value"]) for point in (order[0], order[-1]))
    source = f"{named} · no training · development, {order[0]['n']} examples · grey: random orders"
    return f"{metric[:1].upper() + metric[1:]} from {ends}, as {order[-1]['removed']} heads go", source
