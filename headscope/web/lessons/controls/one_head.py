"""Every layer cut down to its best head, one layer at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import plotly.graph_objects as go
import streamlit as st

from headscope.models.heads import HeadGrid, HeadId
from headscope.web.charts.layout import base_layout
from headscope.web.charts.metric_text import axis_title, change_text, scale
from headscope.web.charts.palette import SERIES, VARIABLES
from headscope.web.grid.head_grid import GridStyle
from headscope.web.lessons.control import NOTHING, Control, Found, Stage, register
from headscope.web.lessons.parts import (
    HOLLOW,
    grid_beside,
    grid_of,
    lost,
    number_html,
    points_of,
    scores_of,
    show_chart,
    title_html,
)
from headscope.web.page.shell import theme

SPARE = 0.02
"""A layer that loses less is said to live on one head."""


@register
@dataclass(frozen=True)
class OneHead(Control):
    """Each layer of a bank keeps the head of the highest score only; the others keep all."""

    bank: str = "encoder"
    method: str = "gradient"

    key = "one_head"

    def show(self, stage: Stage) -> Found:
        """A bar a layer at the right; one layer, with its grid and number, at the left."""
        grid = grid_of(stage.choice)
        with stage.left:
            scores = scores_of(stage.choice, self.method) if grid is not None else {}
        if grid is None or not scores:
            return NOTHING
        masks = all_but_one(grid, self.bank, scores)
        picked = int(stage.pick("Layer", "layer", [str(layer) for layer in range(len(masks))], "0"))
        with stage.left:
            full, *points = points_of(stage.choice, ["", *(grid.spell(mask) for mask in masks)])
        look = replace(GridStyle.of_scores(scores), off=masks[picked], size="mini")
        head = grid_beside(stage, number_html(points[picked], full), grid, look, HOLLOW)
        known = {layer: point for layer, point in enumerate(points) if point is not None}
        if full is None or not known:
            return Found("", head=head)
        with stage.right.container(border=True):
            told = _told(known, full)
            st.html(
                title_html(told, f"all heads of one layer gone but the best by {self.method} · {full['n']} examples")
            )
            show_chart(stage, layer_costs(known, full, picked, theme()), "bars")
        if len(known) < len(masks):
            return Found("", head=head)
        return Found(f"{told}.", not any(point["worse"] for point in known.values()), head)


def all_but_one(grid: HeadGrid, bank: str, scores: Mapping[HeadId, float]) -> list[frozenset[HeadId]]:
    """For every layer the heads that go if only the one of the highest score stays."""
    layers = [grid.layer(bank, layer) for layer in range(len(grid.bank(bank).layers))]
    return [frozenset(heads) - {max(heads, key=lambda head: scores[head])} for heads in layers]


def layer_costs(points: Mapping[int, Mapping[str, Any]], full: Mapping[str, Any], picked: int, theme: str) -> go.Figure:
    """The metric with one head a layer, a bar a layer, beside the full model."""
    metric = str(full["metric"])
    times = scale(metric)
    layers = list(points)
    figure = go.Figure(
        go.Bar(
            x=[f"layer {layer}" for layer in layers],
            y=[points[layer]["value"] * times for layer in layers],
            marker={
                "color": [SERIES[theme][0]] * len(layers),
                "line": {
                    "color": VARIABLES[theme]["amber"],
                    "width": [4 if layer == picked else 0 for layer in layers],
                },
            },
            error_y={
                "type": "data",
                "array": [(points[layer]["high"] - points[layer]["value"]) * times for layer in layers],
                "arrayminus": [(points[layer]["value"] - points[layer]["low"]) * times for layer in layers],
                "thickness": 1.5,
            },
            hovertemplate="%{x}: %{y:.1f}<extra></extra>",
        )
    )
    base_layout(figure, theme, 360)
    figure.add_hline(y=full["value"] * times, line={"color": SERIES[theme][-1], "width": 1, "dash": "dot"})
    figure.update_xaxes(showgrid=False)
    figure.update_yaxes(title=axis_title(metric), rangemode="tozero")
    return figure


def _told(points: Mapping[int, Mapping[str, Any]], full: Mapping[str, Any]) -> str:
    costs = {layer: lost(point, full) for layer, point in points.items()}
    worst = max(costs, key=lambda layer: costs[layer])
    fine = _listed([layer for layer, cost in costs.items() if cost < SPARE * abs(full["value"])])
    change = change_text(str(full["metric"]), points[worst]["value"] - full["value"])
    spared = f"Layers that live on one head: {fine}" if fine else "No layer lives on one head"
    return f"{spared}; layer {worst} pays most ({change})"


def _listed(layers: Sequence[int]) -> str:
    return ", ".join(str(layer) for layer in layers)
