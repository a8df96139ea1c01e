"""FiAK runs as curves: the loss of a run while it goes on, and the metric of all runs against what was pruned."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import plotly.graph_objects as go

from headscope.web.charts.layout import base_layout
from headscope.web.charts.metric_text import axis_title, change_text, metric_text, scale, share_text
from headscope.web.charts.palette import SERIES, VARIABLES

CONTROL = "at random"
KINDS = ("scores", "mixed", "keys", CONTROL)


@dataclass(frozen=True)
class Pruned:
    """A finished run as a point: which series it belongs to, the share of scores that is gone, and what it costs.

    `test` is the metric with its interval after fine-tuning, `change` how far that is from the dense model on the same
    examples, with its interval.
    """

    series: str
    share: float
    name: str
    test: Mapping[str, Any]
    dense: Mapping[str, Any]
    change: Mapping[str, Any]
    higher_is_better: bool

    @classmethod
    def of(cls, spec: Mapping[str, Any], result: Mapping[str, Any], name: str) -> Pruned:
        """What a run was asked and what it found."""
        by_prior = "keys" if not spec["scores"] else "mixed" if spec["keys"] else "scores"
        saved, measured = result["savings"], result["measured"]
        return cls(
            CONTROL if spec["by"] == "random" else by_prior,
            1 - saved["scores_kept"] / saved["scores"],
            name,
            measured["tuned"]["test"],
            measured["dense"]["test"],
            result["change"]["test"],
            result["higher_is_better"],
        )

    @property
    def costs(self) -> bool:
        """Whether the metric is worse than that of the dense model by more than chance."""
        return bool(self.change["high"] < 0 if self.higher_is_better else self.change["low"] > 0)


def fractions_figure(points: Sequence[Pruned], theme: str) -> go.Figure:
    """The metric on test against the share of scores that is gone: a mark a run, a line through the means."""
    figure = go.Figure()
    metric = points[0].test["metric"]
    times = scale(metric)
    for number, series in enumerate(KINDS):
        own = sorted((point for point in points if point.series == series), key=lambda point: point.share)
        if not own:
            continue
        colour = SERIES[theme][number]
        figure.add_scatter(
            x=[100 * point.share for point in own],
            y=[point.test["value"] * times for point in own],
            error_y={
                "type": "data",
                "array": [(point.test["high"] - point.test["value"]) * times for point in own],
                "arrayminus": [(point.test["value"] - point.test["low"]) * times for point in own],
                "thickness": 1.5,
            },
            mode="markers",
            name=series,
            text=[escape(point.name) for point in own],
            hovertemplate="%{text}: %{y:.1f}<extra></extra>",
            marker={"color": colour, "size": 10, "symbol": ("circle", "square", "diamond", "x")[number], "opacity": 1},
        )
        means = _means(own)
        if len(means) > 1 and series != CONTROL:  # those by lot are of all kinds
            figure.add_scatter(
                x=[100 * share for share in means],
                y=[mean * times for mean in means.values()],
                mode="lines",
                showlegend=False,
                hoverinfo="skip",
                line={"color": colour, "width": 2},
            )
    base_layout(figure, theme, 320)
    dense = points[0].dense
    figure.add_hline(
        y=dense["value"] * times,
        line={"color": VARIABLES[theme]["second"], "width": 1, "dash": "dot"},
        annotation={
            "text": f"dense {metric_text(metric, dense['value'])}",
            "font": {"size": 13, "color": VARIABLES[theme]["second"]},
        },
    )
    figure.update_xaxes(title="Scores that are gone, %", range=[0, 100], showgrid=False)
    figure.update_yaxes(title=f"{axis_title(metric)}, test")
    return figure


def fractions_title(points: Sequence[Pruned]) -> str:
    """The most that went without a loss that shows, or what the least cost; the control aside."""
    chosen = [point for point in points if point.series != CONTROL] or list(points)
    harmless = [point for point in chosen if not point.costs]
    metric = str(points[0].test["metric"])
    if harmless:
        most = max(harmless, key=lambda point: point.share)
        return f"{share_text(most.share)} of scores went without a loss of {metric} that shows"
    least = min(chosen, key=lambda point: point.share)
    lost = change_text(metric, least.change["difference"])
    return f"Every share that was tried costs {metric}: {share_text(least.share)} of scores, {lost}"


def loss_figure(points: Sequence[Mapping[str, Any]], phases: Mapping[str, str], theme: str) -> go.Figure:
    """The loss of training, a line a phase, each beginning where the one before ended."""
    figure, offset = go.Figure(), 0
    for number, (phase, name) in enumerate(phases.items()):
        own = [point for point in points if point["phase"] == phase]
        told = [point for point in own if point.get("loss") is not None]
        figure.add_scatter(
            x=[offset + point["step"] for point in told],
            y=[point["loss"] for point in told],
            mode="lines",
            name=name,
            line={"color": SERIES[theme][number], "width": 2, "dash": ("solid", "dash")[number % 2]},
        )
        offset += max((point["step"] for point in own), default=0)
    base_layout(figure, theme, 280)
    figure.update_xaxes(title="Training step", showgrid=False)
    figure.update_yaxes(title="Loss of training", rangemode="tozero")
    return figure


def _means(points: Sequence[Pruned]) -> dict[float, float]:
    """By share, to the nearest hundredth, the mean of the metric."""
    shares = sorted({round(point.share, 2) for point in points})
    return {
        share: statistics.fmean(point.test["value"] for point in points if round(point.share, 2) == share)
        for share in shares
    }
