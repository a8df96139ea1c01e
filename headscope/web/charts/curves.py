"""Pruning curves: pure functions from points to figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

import plotly.graph_objects as go

from headscope.web.charts.layout import base_layout
from headscope.web.charts.metric_text import axis_title, metric_text, scale
from headscope.web.charts.palette import SERIES, VARIABLES

MARKERS = ("circle-open", "square-open", "diamond-open", "triangle-up-open", "x-thin-open", "star-open")
FILLED = ("circle", "square", "diamond", "triangle-up", "x", "star")
DASHES = ("dash", "dashdot", "longdash", "longdashdot", "dot", "dash")
MANY = 40
"""Points of a curve above which markers turn to noise."""

STEEP = 20
"""Highest over lowest value from which on perplexity is drawn on a logarithmic axis."""

Point = Mapping[str, Any]


@dataclass(frozen=True)
class Curve:
    """A line of points; what was trained is drawn solid, what was found without training dashed."""

    name: str
    points: Sequence[Point]
    trained: bool = False


@dataclass(frozen=True)
class Axis:
    """What a point's place from left to right means."""

    field: str = "removed"
    title: str = "Heads removed"
    factor: float = 1.0

    def of(self, point: Point) -> float:
        """Where the point lies."""
        return float(point[self.field]) * self.factor


REMOVED = Axis()
PARAMETERS = Axis("parameters", "Parameters, millions (less is better)", 1e-6)
OPERATIONS = Axis("flops", "Operations of a forward pass, millions (less is better)", 1e-6)
LATENCY = Axis("seconds", "Milliseconds a batch (less is better)", 1e3)


@dataclass(frozen=True)
class Chart:
    """All that is drawn together: curves, random orders, the unpruned model, and where the user is."""

    curves: Sequence[Curve]
    random: Sequence[Sequence[Point]] = ()
    full: Point | None = None
    here: Point | None = None
    axis: Axis = REMOVED

    @property
    def metric(self) -> str:
        """The metric that the points have."""
        points = [
            *(point for curve in self.curves for point in curve.points),
            *(point for run in self.random for point in run),
        ]
        return str(next((point["metric"] for point in [self.full, self.here, *points] if point), ""))


def pruning_chart(chart: Chart, theme: str, height: int = 380) -> go.Figure:
    """The metric against what was removed."""
    figure = go.Figure()
    _add_random(figure, chart, theme)
    for number, curve in enumerate(chart.curves):
        _add_curve(figure, chart, curve, number, theme)
    _add_full(figure, chart, theme)
    _add_here(figure, chart, theme)
    _lay_out(figure, chart, theme, height)
    return figure


def pareto_chart(curves: Sequence[Curve], axis: Axis, higher_is_better: bool, theme: str) -> go.Figure:
    """All points of all curves, and a line through those that no other point beats."""
    metric = next((str(point["metric"]) for curve in curves for point in curve.points), "")
    curves = [
        Curve(curve.name, [point for point in curve.points if axis.field in point], curve.trained) for curve in curves
    ]
    times = scale(metric)
    figure = go.Figure()
    front = pareto_front([point for curve in curves for point in curve.points], axis, higher_is_better)
    figure.add_scatter(
        x=[axis.of(point) for point in front],
        y=[point["value"] * times for point in front],
        mode="lines",
        name="no other is both better and smaller",
        line={"color": VARIABLES[theme]["text"], "width": 2, "shape": "hv"},
        hoverinfo="skip",
    )
    for number, curve in enumerate(curves):
        symbols = FILLED if curve.trained else MARKERS
        figure.add_scatter(
            x=[axis.of(point) for point in curve.points],
            y=[point["value"] * times for point in curve.points],
            error_y=_error_bars(curve.points, times),
            text=[f"{point['removed']} heads removed" for point in curve.points],
            mode="markers",
            name=curve.name,
            marker={
                "symbol": symbols[number % len(symbols)], "size": 9, "color": SERIES[theme][number % 4], "opacity": 1
            },
            hovertemplate="%{text}: %{y:.2f}<extra>%{fullData.name}</extra>",
        )  # fmt: skip
    base_layout(figure, theme, 380)
    figure.update_layout(margin={"t": 22}, legend={"y": -0.22, "yanchor": "top"})
    figure.update_xaxes(title=axis.title, showgrid=False)
    values = [point["value"] for curve in curves for point in curve.points]
    steep = metric == "perplexity" and bool(values) and max(values) > STEEP * min(values)
    figure.update_yaxes(title=axis_title(metric), type="log" if steep else "linear")
    return figure


def pareto_front(points: Sequence[Point], axis: Axis, higher_is_better: bool) -> list[Point]:
    """The points that no other point beats in both: as far left with a better metric; from left to right.

    Points of which the axis is not known are left out.
    """
    sign = 1 if higher_is_better else -1
    front: list[Point] = []
    known = [point for point in points if axis.field in point]
    for point in sorted(known, key=lambda one: (axis.of(one), -sign * one["value"])):
        if not front or sign * point["value"] > sign * front[-1]["value"]:
            front.append(point)
    return front


def band(random: Sequence[Sequence[Point]], axis: Axis) -> list[tuple[float, float, float, float]]:
    """Place, lowest, mean and highest value of random orders, wherever at least two of them have a point."""
    by_place: dict[float, list[float]] = {}
    for run in random:
        for point in run:
            by_place.setdefault(axis.of(point), []).append(point["value"])
    several = sorted((place, values) for place, values in by_place.items() if len(values) > 1)
    return [(place, min(values), fmean(values), max(values)) for place, values in several]


def _add_random(figure: go.Figure, chart: Chart, theme: str) -> None:
    found = band(chart.random, chart.axis)
    if not found:
        return
    grey, times = SERIES[theme][-1], scale(chart.metric)
    places = [place for place, *_ in found]
    shared = {"x": places, "mode": "lines", "hoverinfo": "skip", "legendgroup": "random"}
    figure.add_scatter(y=[high * times for *_, high in found], line={"width": 0}, showlegend=False, **shared)
    figure.add_scatter(
        y=[low * times for _, low, *_ in found], line={"width": 0}, showlegend=False, fill="tonexty",
        fillcolor=_faint(grey), **shared,
    )  # fmt: skip
    figure.add_scatter(
        x=places,
        y=[mean * times for _, _, mean, _ in found],
        mode="lines",
        name=f"Random order, mean and range of {len(chart.random)}",
        legendgroup="random",
        line={"color": grey, "width": 2, "dash": "dot"},
        hovertemplate="%{x:.4~g}: %{y:.2f}<extra>random</extra>",
    )


def _add_curve(figure: go.Figure, chart: Chart, curve: Curve, number: int, theme: str) -> None:
    colour, times = SERIES[theme][number % 4], scale(chart.metric)
    places = [chart.axis.of(point) for point in curve.points]
    ends = [[point[end] * times for point in curve.points] for end in ("low", "high")]
    figure.add_scatter(
        x=[*places, *reversed(places)], y=[*ends[1], *reversed(ends[0])], fill="toself", fillcolor=_faint(colour),
        line={"width": 0}, hoverinfo="skip", showlegend=False, legendgroup=str(number), mode="lines",
    )  # fmt: skip
    symbols = FILLED if curve.trained else MARKERS
    alone = len(places) == 1  # no band is seen around one point
    figure.add_scatter(
        x=places,
        y=[point["value"] * times for point in curve.points],
        error_y=_error_bars(curve.points, times) if alone else None,
        mode="lines" if len(places) > MANY else "lines+markers",
        name=curve.name,
        legendgroup=str(number),
        line={"color": colour, "width": 3, "dash": "solid" if curve.trained else DASHES[number % len(DASHES)]},
        marker={"symbol": symbols[number % len(symbols)], "size": 8, "color": colour, "opacity": 1},
        hovertemplate="%{x:.4~g}: %{y:.2f}<extra>%{fullData.name}</extra>",
    )


def _error_bars(points: Sequence[Point], times: float) -> dict[str, Any]:
    return {
        "type": "data",
        "array": [(point["high"] - point["value"]) * times for point in points],
        "arrayminus": [(point["value"] - point["low"]) * times for point in points],
        "thickness": 1,
        "width": 0,
    }


def _add_full(figure: go.Figure, chart: Chart, theme: str) -> None:
    if chart.full is None:
        return
    value = chart.full["value"] * scale(chart.metric)
    figure.add_hline(
        y=value,
        line={"color": SERIES[theme][-1], "width": 1, "dash": "dot"},
        annotation={
            "text": f"unpruned {metric_text(chart.metric, chart.full['value'])}",
            "font": {"size": 13, "color": VARIABLES[theme]["second"]},
            "yanchor": "bottom",
        },
        annotation_position="top right",
    )


def _add_here(figure: go.Figure, chart: Chart, theme: str) -> None:
    if chart.here is None:
        return
    place = chart.axis.of(chart.here)
    colours = VARIABLES[theme]
    figure.add_vline(x=place, line={"color": colours["amber"], "width": 2})
    figure.add_annotation(
        x=place, y=0, yref="paper", text="your mask", showarrow=False, xanchor="left", yanchor="bottom", xshift=4,
        font={"size": 13, "color": "#b45309" if theme == "light" else colours["amber"]},
    )  # fmt: skip
    if "value" in chart.here:
        figure.add_scatter(
            x=[place],
            y=[chart.here["value"] * scale(chart.metric)],
            mode="markers",
            name="your mask",
            marker={
                "color": colours["amber"],
                "size": 12,
                "line": {"color": colours["page"], "width": 2},
                "opacity": 1,
            },
            showlegend=False,
            hovertemplate="your mask: %{y:.2f}<extra></extra>",
        )


def _lay_out(figure: go.Figure, chart: Chart, theme: str, height: int) -> None:
    base_layout(figure, theme, height)
    figure.update_layout(
        margin={"t": 22}, legend={"y": -0.22, "yanchor": "top"}, hovermode="closest", uirevision="curves"
    )
    figure.update_xaxes(title=chart.axis.title, showgrid=False)
    steep = chart.metric == "perplexity" and _is_steep(chart)
    figure.update_yaxes(title=axis_title(chart.metric), type="log" if steep else "linear")


def _is_steep(chart: Chart) -> bool:
    """Whether the values span so much that a straight scale would show nothing."""
    values = [point["value"] for run in (*(curve.points for curve in chart.curves), *chart.random) for point in run]
    return bool(values) and max(values) > STEEP * min(values)


def _faint(colour: str) -> str:
    red, green, blue = (int(colour[at : at + 2], 16) for at in (1, 3, 5))
    return f"rgba({red},{green},{blue},0.14)"
