"""A FiAK run as figures: maps of priors, which keys die, how priors spread, the metric against what was pruned."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray
from plotly.subplots import make_subplots

from headscope.web.charts.layout import base_layout
from headscope.web.charts.metric_text import axis_title, scale
from headscope.web.charts.palette import IMPORTANCE, SERIES, VARIABLES

STAGES = {
    "dense": "dense",
    "heads": "without heads",
    "priors": "with priors",
    "pruned": "pruned",
    "tuned": "fine-tuned",
}
PHASES = {"priors": "training priors", "tuning": "fine-tuning what is left"}

Run = Mapping[str, Any]


def key_strength(priors: NDArray[np.float32]) -> NDArray[np.float32]:
    """How much prior each key has, summed over queries: [head, key]."""
    summed: NDArray[np.float32] = np.abs(priors).sum(axis=1)
    return summed


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
    ends = value_range(shown)
    for place in range(len(heads)):
        figure.add_trace(_map(shown[place], ends, theme), place // columns + 1, place % columns + 1)
    return _laid_out(figure, theme, 50 + 190 * rows)


def image_maps(strength: NDArray[np.float32], heads: Sequence[int], theme: str) -> go.Figure | None:
    """For image models: how strong each patch is as a key, a small image a head."""
    images = [folded(one) for one in strength]
    if any(image is None for image in images):
        return None
    columns = min(6, len(heads))
    rows = math.ceil(len(heads) / columns)
    figure = make_subplots(rows, columns, subplot_titles=[f"head {head}" for head in heads], horizontal_spacing=0.02)
    ends = value_range(strength[:, 1:])
    for place, image in enumerate(images):
        figure.add_trace(_map(image, ends, theme), place // columns + 1, place % columns + 1)
    return _laid_out(figure, theme, 40 + 125 * rows)


def value_range(values: NDArray[np.float32]) -> tuple[float, float]:
    """From which value to which the colours go: all but the outermost hundredths, so that small differences show."""
    there = values[~np.isnan(values)]
    if not there.size:
        return 0.0, 1.0
    low, high = (float(end) for end in np.quantile(there, (0.01, 0.99)))
    return (low, high) if high > low else (0.0, max(high, 1e-6))


def key_figure(keys: NDArray[np.bool_], heads: Sequence[int], theme: str) -> go.Figure:
    """Which keys are left to which head: a row a head, a column a position."""
    colours = VARIABLES[theme]
    figure = go.Figure(
        go.Heatmap(
            z=keys.astype(int),
            y=[f"head {head}" for head in heads],
            zmin=0,
            zmax=1,
            xgap=1,
            ygap=1,
            colorscale=[
                [0, colours["empty"]],
                [0.5, colours["empty"]],
                [0.5, colours["primary"]],
                [1, colours["primary"]],
            ],
            showscale=False,
            hovertemplate="%{y}, key %{x}: %{z}<extra></extra>",
        )
    )
    base_layout(figure, theme, 90 + 22 * len(heads))
    figure.update_xaxes(title="Position of the key", showgrid=False)
    figure.update_yaxes(autorange="reversed", showgrid=False)
    return figure


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
    base_layout(figure, theme, 340)
    figure.update_layout(legend={"y": -0.6})
    figure.update_xaxes(title="Prior, in units of where it began", showgrid=False)
    figure.update_yaxes(title="Share of priors, %")
    return figure


def stages_figure(results: Sequence[Run], theme: str) -> go.Figure:
    """The metric on test, dense, with priors, pruned and fine-tuned, a line a run."""
    figure = go.Figure()
    metric = results[0]["metric"]
    times = scale(metric)
    for number, result in enumerate(results):
        stages = [stage for stage in STAGES if stage in result["measured"]]
        estimates = [result["measured"][stage]["test"] for stage in stages]
        figure.add_scatter(
            x=[STAGES[stage] for stage in stages],
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
    figure.update_xaxes(categoryorder="array", categoryarray=list(STAGES.values()))
    figure.update_yaxes(title=f"{axis_title(metric)}, test")
    return figure


def diversity_figure(spread: Mapping[str, Mapping[str, float]], theme: str) -> go.Figure:
    """How different the heads of every layer are, a line a stage."""
    figure = go.Figure()
    layers = list(spread["dense"])
    alone = len({layer.partition(".")[0] for layer in layers}) == 1
    stages = {stage: name for stage, name in STAGES.items() if stage in spread and stage != "heads"}
    for number, (stage, name) in enumerate(stages.items()):
        figure.add_scatter(
            x=[layer.partition(".")[2] if alone else layer for layer in layers],
            y=[100 * spread[stage][layer] if layer in spread[stage] else None for layer in layers],
            mode="lines+markers",
            name=name,
            line={"color": SERIES[theme][number % 4], "width": 3, "dash": ("solid", "dash", "dot", "dashdot")[number]},
            marker={"symbol": ("circle", "square", "diamond", "triangle-up")[number], "size": 8, "opacity": 1},
        )
    base_layout(figure, theme, 320)
    figure.update_xaxes(title="Layer", type="category", showgrid=False)
    figure.update_yaxes(title="Attention not shared, %", rangemode="tozero")
    return figure


def diversity_title(spread: Mapping[str, Mapping[str, float]]) -> str:
    """Whether heads differ more or less in the end than before, from the numbers drawn."""
    before, after = (100 * sum(spread[stage].values()) / len(spread[stage]) for stage in ("dense", "tuned"))
    change = f"{before:.0f} % of their attention before, {after:.0f} % in the end"
    if round(before) == round(after):
        return f"Heads differ as much as before: {change}"
    return f"Heads differ {'more' if after > before else 'less'} than before: {change}"


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
    figure.update_xaxes(title="Tokens in the sequence", type="log", tickvals=list(lengths)[::2], showgrid=False)
    figure.update_yaxes(title="Left of an attention layer, %", range=[0, 105])
    return figure


def _map(values: NDArray[np.float32] | None, ends: tuple[float, float], theme: str) -> go.Heatmap:
    steps = IMPORTANCE[theme]
    return go.Heatmap(
        z=values,
        zmin=ends[0],
        zmax=ends[1],
        colorscale=[[place / (len(steps) - 1), colour] for place, colour in enumerate(steps)],
        showscale=False,
        hovertemplate="query %{y}, key %{x}: %{z:.3f}<extra></extra>",
    )


def _laid_out(figure: go.Figure, theme: str, height: int) -> go.Figure:
    base_layout(figure, theme, height)
    figure.update_layout(margin={"t": 28})
    figure.update_annotations(font={"size": 13, "color": VARIABLES[theme]["second"]})
    figure.update_xaxes(showticklabels=False, showgrid=False, showline=False, ticks="", constrain="domain")
    figure.update_yaxes(showticklabels=False, showgrid=False, ticks="", autorange="reversed", constrain="domain")
    for place, trace in enumerate(figure.data, start=1):
        axis = "" if place == 1 else str(place)
        if len(trace.z) > 1:  # a map of queries and keys, or of patches, is square; one row of keys is not
            figure.update_layout({f"yaxis{axis}": {"scaleanchor": f"x{axis}"}})
    return figure
