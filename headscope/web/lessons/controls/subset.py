"""Exactly K heads, chosen by training and by rank, for several K."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import plotly.graph_objects as go
import streamlit as st

from headscope.runs.kind import Kind
from headscope.runs.kinds.learn import LearnRun
from headscope.web.charts.layout import base_layout
from headscope.web.charts.metric_text import axis_title, metric_text, scale
from headscope.web.charts.palette import SERIES
from headscope.web.grid.presets import least_important
from headscope.web.lessons.control import NOTHING, Control, Found, Stage, register
from headscope.web.lessons.parts import grid_of, lost, number_html, points_of, scores_of, show_chart, title_html
from headscope.web.page.choice import Choice
from headscope.web.page.shell import theme
from headscope.web.runs.requests import answered, known

LEARNED, RANKED = "chosen by training the gates", "chosen by rank"


@register
@dataclass(frozen=True)
class Subset(Control):
    """Short trainings of subset gates with frozen weights, beside the heads of the highest gradient."""

    counts: tuple[int, ...] = (12, 24, 36)
    start: int = 24
    n_steps: int = 60
    method: str = "gradient"

    key = "subset"

    def trainings(self, choice: Choice) -> list[Kind]:
        """That of the number of heads with which the step opens."""
        return [subset_run(choice, self.start, self.n_steps)]

    def show(self, stage: Stage) -> Found:
        """Both curves at the right, as far as they were asked for; K and the number at the left."""
        grid = grid_of(stage.choice)
        with stage.left:
            scores = scores_of(stage.choice, self.method) if grid is not None else {}
        if grid is None or not scores:
            return NOTHING
        keep = int(stage.pick("Heads that stay", "keep", [str(count) for count in self.counts], str(self.start)))
        with stage.left:
            masks = [grid.spell(least_important(grid, scores, len(grid) - count)) for count in self.counts]
            full, *points = points_of(stage.choice, ["", *masks])
            learned = self._learned(stage.choice, keep)
            st.html(number_html(learned.get(keep), full))
        ranked = {count: point for count, point in zip(self.counts, points, strict=True) if point is not None}
        if full is None or not ranked:
            return NOTHING
        told = _told(keep, learned, ranked, full["metric"])
        with stage.right.container(border=True):
            st.html(
                title_html(told or "Training the gates …", f"development, {full['n']} examples · weights as they were")
            )
            curves = {LEARNED: learned, RANKED: ranked}
            show_chart(stage, kept_figure(curves, full, keep, theme()), "kept")
        return Found(f"{told}.", as_good(learned[keep], ranked[keep], full)) if told else NOTHING

    def _learned(self, choice: Choice, keep: int) -> dict[int, dict[str, Any]]:
        """The choices of finished trainings; the one for `keep` is started if need be."""
        runs = {count: known(subset_run(choice, count, self.n_steps)) for count in self.counts if count != keep}
        runs[keep] = answered(subset_run(choice, keep, self.n_steps))
        done = {count: run for count in self.counts if (run := runs.get(count)) is not None}
        points = points_of(choice, [run.found["mask"] for run in done.values()]) if done else []
        return {count: point for count, point in zip(done, points, strict=True) if point is not None}


def as_good(learned: Mapping[str, Any], ranked: Mapping[str, Any], full: Mapping[str, Any]) -> bool:
    """Whether the heads that training chose do at least as well as those of the highest rank."""
    return lost(learned, full) <= lost(ranked, full)


def subset_run(choice: Choice, keep: int, n_steps: int) -> LearnRun:
    """A training of the gates alone, after which exactly so many heads stay."""
    return LearnRun(choice.model, "dsp", {"keep": keep}, "", "frozen", n_steps, 0, **choice.judged)


def kept_figure(
    curves: Mapping[str, Mapping[int, Mapping[str, Any]]], full: Mapping[str, Any], here: int, theme: str
) -> go.Figure:
    """The metric against the number of heads that stay, one line a way to choose them."""
    metric = str(full["metric"])
    times = scale(metric)
    figure = go.Figure()
    for number, (name, points) in enumerate(curves.items()):
        counts = sorted(points)
        figure.add_scatter(
            x=counts,
            y=[points[count]["value"] * times for count in counts],
            error_y={
                "type": "data",
                "array": [(points[count]["high"] - points[count]["value"]) * times for count in counts],
                "arrayminus": [(points[count]["value"] - points[count]["low"]) * times for count in counts],
                "thickness": 1.5,
            },
            mode="lines+markers",
            name=name,
            line={"color": SERIES[theme][number * 2], "width": 3, "dash": ("solid", "dash")[number]},
            marker={"symbol": ("circle", "x-thin-open")[number], "size": 11, "opacity": 1, "line": {"width": 3}},
        )
    base_layout(figure, theme, 380)
    figure.add_hline(y=full["value"] * times, line={"color": SERIES[theme][-1], "width": 1, "dash": "dot"})
    figure.add_vline(x=here, line={"color": "#f59e0b", "width": 2})
    figure.update_layout(showlegend=True)
    figure.update_xaxes(title="Heads that stay", showgrid=False)
    figure.update_yaxes(title=axis_title(metric))
    return figure


def _told(
    keep: int, learned: Mapping[int, Mapping[str, Any]], ranked: Mapping[int, Mapping[str, Any]], metric: str
) -> str:
    if keep not in learned or keep not in ranked:
        return ""
    one, other = (metric_text(metric, points[keep]["value"]) for points in (learned, ranked))
    return f"With {keep} heads: {one} if training chooses them, {other} if rank does"
