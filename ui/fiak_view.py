"""A FiAK run as figures: maps of priors, which keys die, how priors spread, the metric against what was pruned."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray
from plotly.subplots import make_subplots

from ui.charts import base_layout
from ui.metric_text import axis_title, scale
from ui.palette import IMPORTANCE, SERIES, VARIABLES

STAGES = {"dense": "dense", "priors": "with priors", "pruned": "pruned", "tuned": "fine-tuned"}
PHASES = {"priors": "training priors", "tuning": "fine-tuning what is left"}

Run = Mapping[str, Any]


def key_strength(priors: NDArray[np.float32]) -> NDArray[np.float32]:
    """How much prior each key has, summed over queries: [head, key]."""
    return np.abs(priors).sum(axis=1)


def folded(strength: NDArray[np.float32]) -> NDArray[np.float32] | None:
    """Keys of an image back on its patches, [row, column], the class token left out; None where they are no square."""
    side = math.isqrt(len(strength) - 1)
    return strength[1:].reshape(side, side) if side and side * side == len(strength) - 1 else None


def prior_maps(priors: NDArray[np.float32], kept: NDArray[np.bool_], heads: Sequence[int], theme: str) -> go.Figure:
    """A square a head: dark where the prior is strong; what was pruned is left out."""
    columns = min(4, len(heads))
    rows = math.ceil(len(heads) / columns)
    titles = [f"head {head}" for head in heads]
    figure = make_subplots(rows, columns, subplot_titles=titles, horizontal_spacing=0.03, vertical_spacing=0.12)
    shown = np.where(kept, np.abs(priors), np.nan)
    for place in range(len(heads)):
        figure.add_trace(
            _map(shown[place], float(np.nanmax(np.abs(priors))), theme), place // columns + 1, place % columns + 1
        )
    return _laid_out(figure, theme, 90 + 210 * rows)


def image_maps(strength: NDArray[np.float32], heads: Sequence[int], theme: str) -> go.Figure | None:
    """For image models: how strong each patch is as a key, a small image a head."""
    images = [folded(one) for one in strength]
    if any(image is None for image in images):
        return None
    columns = min(6, len(heads))
    rows = math.ceil(len(heads) / columns)
    figure = make_subplots(rows, columns, subplot_titles=[f"head {head}" for head in heads], horizontal_spacing=0.02)
    for place, image in enumerate(images):
        figure.add_trace(_map(image, float(strength.max()), theme), place // columns + 1, place % columns + 1)
    return _laid_out(figure, theme, 60 + 150 * rows)


def histogram_figure(counts: Mapping[str, Sequence[int]], theme: str) -> go.Figure:
    """How the priors of each layer spread around where they began, which is 1."""
    figure = go.Figure()
    for number, (layer, own) in enumerate(counts.items()):
        width = 2.0 / len(own)
        figure.add_scatter(
            x=[(place + 0.5) * width for place in range(len(own))],
            y=[100 * count / max(1, sum(own)) for count in own],
            mode="lines",
            name=layer,
            line={"color": SERIES[theme][number % 4], "width": 2, "dash": ("solid", "dash", "dot")[number // 4 % 3]},
        )
    base_layout(figure, theme, 320)
    figure.update_xaxes(title="Prior, in units of where it began", showgrid=False)
    figure.update_yaxes(title="Share of priors, %")
    return figure


def stages_figure(results: Sequence[Run], theme: str) -> go.Figure:
    """The metric on test, dense, with priors, pruned and fine-tuned, a line a run."""
    figure = go.Figure()
    metric = results[0]["metric"]
    times = scale(metric)
    for number, result in enumerate(results):
        estimates = [result["measured"][stage]["test"] for stage in STAGES]
        figure.add_scatter(
            x=list(STAGES.values()),
            y=[one["value"] * times for one in estimates],
            error_y={
                "type": "data",
                "array": [(one["high"] - one["value"]) * times for one in estimates],
                "arrayminus": [(one["value"] - one["low"]) * times for one in estimates],
                "thickness": 1.5,
            },
            mode="lines+markers",
            name=result["name"],
            line={"color": SERIES[theme][number % 4], "width": 3},
            marker={"symbol": ("circle", "square", "diamond", "triangle-up")[number % 4], "size": 10, "opacity": 1},
        )
    base_layout(figure, theme, 280)
    figure.update_yaxes(title=f"{axis_title(metric)}, test")
    return figure


def ratio_figure(
    lengths: Sequence[int], curves: Mapping[str, Sequence[float]], here: int | None, theme: str
) -> go.Figure:
    """What is left of operations and memory of an attention layer, against the length of the sequence."""
    figure = go.Figure()
    for number, (name, ratios) in enumerate(curves.items()):
        figure.add_scatter(
            x=list(lengths),
            y=[100 * ratio for ratio in ratios],
            mode="lines",
            name=name,
            line={"color": SERIES[theme][number], "width": 3, "dash": ("solid", "dash")[number % 2]},
        )
    if here is not None:
        figure.add_vline(x=here, line={"color": VARIABLES[theme]["amber"], "width": 2})
    base_layout(figure, theme, 280)
    figure.update_xaxes(title="Tokens in the sequence", type="log", showgrid=False)
    figure.update_yaxes(title="Left of an attention layer, %", range=[0, 105])
    return figure


def _map(values: NDArray[np.float32] | None, most: float, theme: str) -> go.Heatmap:
    steps = IMPORTANCE[theme]
    return go.Heatmap(
        z=values,
        zmin=0,
        zmax=most,
        colorscale=[[place / (len(steps) - 1), colour] for place, colour in enumerate(steps)],
        showscale=False,
        hovertemplate="query %{y}, key %{x}: %{z:.3f}<extra></extra>",
    )


def _laid_out(figure: go.Figure, theme: str, height: int) -> go.Figure:
    base_layout(figure, theme, height)
    figure.update_layout(margin={"t": 28})
    figure.update_annotations(font={"size": 13, "color": VARIABLES[theme]["second"]})
    figure.update_xaxes(showticklabels=False, showgrid=False)
    figure.update_yaxes(showticklabels=False, showgrid=False, autorange="reversed")
    return figure
