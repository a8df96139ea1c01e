"""The metric on development while a model is trained in several phases, one after the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import plotly.graph_objects as go

from ui.charts import base_layout
from ui.metric_text import axis_title, metric_text, scale
from ui.palette import SERIES, VARIABLES


def training_chart(
    points: Sequence[Mapping[str, Any]], phases: Mapping[str, str], full: Mapping[str, Any], theme: str
) -> go.Figure:
    """A line a phase, each beginning where the one before ended, beside the model as it was."""
    figure = go.Figure()
    metric = str(full["metric"])
    times, offset = scale(metric), 0
    for number, (phase, name) in enumerate(phases.items()):
        own = [point for point in points if point["phase"] == phase]
        told = [point for point in own if point.get("value") is not None]
        figure.add_scatter(
            x=[offset + point["step"] for point in told],
            y=[point["value"] * times for point in told],
            mode="lines+markers",
            name=name,
            line={"color": SERIES[theme][number], "width": 3},
            marker={"symbol": ("circle", "square")[number % 2], "size": 8, "opacity": 1},
        )
        offset += max((point["step"] for point in own), default=0)
    base_layout(figure, theme, 280)
    figure.add_hline(
        y=full["value"] * times,
        line={"color": SERIES[theme][-1], "width": 1, "dash": "dot"},
        annotation={
            "text": f"full model {metric_text(metric, full['value'])}",
            "font": {"size": 13, "color": VARIABLES[theme]["second"]},
        },
    )
    figure.update_xaxes(title="Training step", showgrid=False)
    figure.update_yaxes(title=f"{axis_title(metric)}, development")
    return figure
