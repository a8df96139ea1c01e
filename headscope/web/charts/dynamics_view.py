"""Training dynamics as figures: what can be pruned at each moment, and which heads come to matter when."""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go

from headscope.pruning.search.dynamics import Moment
from headscope.web.charts.layout import base_layout
from headscope.web.charts.metric_text import axis_title, scale
from headscope.web.charts.palette import SERIES, VARIABLES, importance_colour

QUALITIES = (0.95, 0.9, 0.85)
"""Shares of the metric that are kept."""


def moment_name(moment: Moment) -> str:
    """The step, or the name where the step is not known."""
    return moment.name if moment.step is None else f"{moment.step:,}"


def curves_figure(moments: Sequence[Moment], theme: str) -> go.Figure:
    """The metric as heads go, a line a moment, the later the darker; as a share of that moment's own metric."""
    figure = go.Figure()
    for number, moment in enumerate(moments):
        late = (number + 1) / len(moments)
        kept = [_share_kept(moment, value) for value in moment.curve]
        figure.add_scatter(
            x=[100 * share for share in moment.shares],
            y=[100 * share for share in kept],
            mode="lines+markers",
            name=f"step {moment_name(moment)}",
            line={"color": importance_colour(0.25 + 0.75 * late, theme), "width": 1.5 + 2 * late},
            marker={"size": 5, "opacity": 1},
        )
    base_layout(figure, theme, 600)
    figure.update_xaxes(title="Heads removed, %, the least important of that moment first", showgrid=False)
    figure.update_yaxes(title="Left of that moment's metric, %", range=[0, 105])
    return figure


def prunable_figure(moments: Sequence[Moment], theme: str) -> go.Figure:
    """The share of heads that can go with most of the metric left, over training."""
    figure = go.Figure()
    for number, quality in enumerate(QUALITIES):
        figure.add_scatter(
            x=[moment_name(moment) for moment in moments],
            y=[100 * moment.prunable(quality) for moment in moments],
            mode="lines+markers",
            name=f"{100 * quality:.0f} % of the metric left",
            line={"color": SERIES[theme][number], "width": 3, "dash": ("solid", "dash", "dot")[number]},
            marker={"symbol": ("circle", "square", "diamond")[number], "size": 8, "opacity": 1},
        )
    base_layout(figure, theme, 320)
    figure.update_xaxes(title="Training step", type="category", showgrid=False)
    figure.update_yaxes(title="Heads that can go, %", range=[0, 100])
    return figure


def metric_figure(moments: Sequence[Moment], theme: str) -> go.Figure:
    """How good the model is with all its heads, over training."""
    metric = moments[-1].metric
    figure = go.Figure()
    figure.add_scatter(
        x=[moment_name(moment) for moment in moments],
        y=[moment.curve[0] * scale(metric) for moment in moments],
        mode="lines+markers",
        name="all heads",
        line={"color": SERIES[theme][0], "width": 3},
        marker={"size": 8, "opacity": 1},
    )
    base_layout(figure, theme, 320)
    figure.update_xaxes(title="Training step", type="category", showgrid=False)
    figure.update_yaxes(title=axis_title(metric), gridcolor=VARIABLES[theme]["line"])
    return figure


def dynamics_title(moments: Sequence[Moment]) -> str:
    """What the first and the last moment say."""
    first, last = (100 * moment.prunable() for moment in (moments[0], moments[-1]))
    return f"At 90 % of the metric, {first:.0f} % of the heads could go at first, {last:.0f} % in the end"


def _share_kept(moment: Moment, value: float) -> float:
    whole = moment.curve[0]
    if not whole or not value:
        return 0.0
    return value / whole if moment.higher_is_better else whole / value
