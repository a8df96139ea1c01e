"""Ways to choose heads at equal numbers of them, as a figure, rows of a table and one sentence."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

import plotly.graph_objects as go

from headscope.runs.kinds.method_comparison import WAYS
from headscope.web.charts.layout import base_layout
from headscope.web.charts.metric_text import axis_title, metric_text, range_text, scale
from headscope.web.charts.palette import SERIES

REGIMES = {"old": "weights as they were", "trained": "after training"}
SYMBOLS = ("circle", "square", "diamond", "triangle-up", "x", "star")
DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")
COLOURS = (0, 0, 1, 2, 4, 3)
"""Of the series, way by way: both kinds of subset gates share one."""


Entry = Mapping[str, Any]


def values_of(entries: Sequence[Entry], way: str, keep: int, regime: str) -> list[float]:
    """The metric of every seed that is there."""
    own = [one[regime] for one in entries if one["way"] == way and one["keep"] == keep]
    return [float(one["value"]) for one in own if one is not None]


def ways_of(entries: Sequence[Entry], regime: str) -> list[str]:
    """The ways that have a number in this regime, in their usual order."""
    there = {one["way"] for one in entries if one[regime] is not None}
    return [way for way in WAYS if way in there]


def comparison_figure(entries: Sequence[Entry], regime: str, full: Mapping[str, Any] | None, theme: str) -> go.Figure:
    """A line a way over the heads that stay: the mean of the seeds, and bars from the lowest to the highest."""
    metric = entries[0]["trained"]["metric"]
    times = scale(metric)
    keeps = sorted({one["keep"] for one in entries})
    figure = go.Figure()
    for way in ways_of(entries, regime):
        number = list(WAYS).index(way)
        found = {keep: values_of(entries, way, keep, regime) for keep in keeps}
        found = {keep: values for keep, values in found.items() if values}
        means = [statistics.fmean(values) for values in found.values()]
        figure.add_scatter(
            x=list(found),
            y=[mean * times for mean in means],
            error_y={
                "type": "data",
                "array": [(max(one) - mean) * times for one, mean in zip(found.values(), means, strict=True)],
                "arrayminus": [(mean - min(one)) * times for one, mean in zip(found.values(), means, strict=True)],
                "thickness": 1.5,
            },
            mode="lines+markers",
            name=WAYS[way],
            line={"color": SERIES[theme][COLOURS[number]], "width": 3, "dash": DASHES[number]},
            marker={"symbol": SYMBOLS[number], "size": 9, "opacity": 1},
        )
    base_layout(figure, theme, 340)
    if full is not None:
        figure.add_hline(
            y=full["value"] * times, line={"color": SERIES[theme][-1], "width": 1, "dash": "dot"},
            annotation={"text": f"all heads {metric_text(metric, full['value'])}", "font": {"size": 13}},
        )  # fmt: skip
    figure.update_xaxes(title="Heads that stay", tickvals=keeps, showgrid=False)
    figure.update_yaxes(title=f"{axis_title(metric)}, test")
    return figure


def comparison_rows(entries: Sequence[Entry]) -> list[dict[str, str]]:
    """A row a way and regime, a column a number of heads: mean over seeds, lowest to highest."""
    metric = entries[0]["trained"]["metric"]
    keeps = sorted({one["keep"] for one in entries}, reverse=True)
    return [
        {"way": WAYS[way], "weights": text}
        | {f"{keep} stay": _cell(metric, values_of(entries, way, keep, regime)) for keep in keeps}
        for regime, text in REGIMES.items()
        for way in ways_of(entries, regime)
    ]


def comparison_title(entries: Sequence[Entry], higher_is_better: bool) -> str:
    """Which way is best after training where the fewest heads stay, and by how much against gradient order."""
    fewest = min(one["keep"] for one in entries)
    means = {
        way: statistics.fmean(values)
        for way in ways_of(entries, "trained")
        if (values := values_of(entries, way, fewest, "trained"))
    }
    metric = entries[0]["trained"]["metric"]
    best = (max if higher_is_better else min)(means, key=means.__getitem__)
    others = {way: value for way, value in means.items() if way != best}
    if not others:
        return f"With {fewest} heads left {WAYS[best]} reaches {metric_text(metric, means[best])}"
    second = (max if higher_is_better else min)(others, key=others.__getitem__)
    return (
        f"With {fewest} heads left {WAYS[best]} is best: {metric_text(metric, means[best])}, then {WAYS[second]} with "
        f"{metric_text(metric, means[second])}"
    )


def _cell(metric: str, values: Sequence[float]) -> str:
    if not values:
        return ""
    mean = metric_text(metric, statistics.fmean(values))
    return mean if len(values) == 1 else f"{mean} ({range_text(metric, min(values), max(values))})"
