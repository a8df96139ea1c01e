"""Figures: pure functions of plain values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import plotly.graph_objects as go

from headscope.web.charts.palette import SERIES, VARIABLES

FONT = "Source Sans, sans-serif"


BIGGER = 1.4
"""How much larger type is for a lecture hall."""


def enlarged(figure: go.Figure) -> go.Figure:
    """The same figure with type that the last row can read, and somewhat higher to make room for it."""
    layout = figure.layout
    figure.update_layout(
        font={"size": _bigger(layout.font.size)},
        legend={"font": {"size": _bigger(layout.legend.font.size)}, "y": 1.5 * (layout.legend.y or 0.0)},
        height=round(1.15 * layout.height) if layout.height else None,
    )
    for each in (figure.for_each_xaxis, figure.for_each_yaxis):
        each(
            lambda axis: axis.update(
                tickfont={"size": _bigger(axis.tickfont.size)}, title={"font": {"size": _bigger(axis.title.font.size)}}
            )
        )
    figure.for_each_annotation(lambda note: note.update(font={"size": _bigger(note.font.size)}))
    return figure


def _bigger(size: float | None) -> int:
    return round(BIGGER * (size or 14))


def base_layout(figure: go.Figure, theme: str, height: int) -> None:
    """What all figures have in common: no fill, the page's type, thin lines, the legend in one line below."""
    colours = VARIABLES[theme]
    figure.update_layout(
        height=height,
        margin={"l": 8, "r": 26, "t": 8, "b": 8},
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        font={"family": FONT, "size": 14, "color": colours["text"]},
        legend={"orientation": "h", "y": -0.3, "yanchor": "top", "font": {"size": 14}},
    )
    figure.update_xaxes(linecolor=colours["line"], gridcolor=colours["line"], tickfont={"size": 13}, zeroline=False)
    figure.update_yaxes(gridcolor=colours["line"], tickfont={"size": 13}, zeroline=False)


def balance_bars(balance: Mapping[str, float], theme: str) -> go.Figure:
    """A whole, and under it the parts that should add up to it, one behind the other."""
    colours = VARIABLES[theme]
    (whole, total), *parts = balance.items()
    figure = go.Figure()
    figure.add_bar(name=whole, y=["goes in"], x=[total], orientation="h", marker={"color": SERIES[theme][0]})
    for (part, value), colour, pattern in zip(parts, SERIES[theme][1:], ("/", "x", "."), strict=False):
        marker = {"color": colour, "pattern": {"shape": pattern, "fillmode": "overlay"}}
        figure.add_bar(name=part, y=["comes out"], x=[value], orientation="h", marker=marker)
    base_layout(figure, theme, height=170)
    figure.update_layout(barmode="relative", legend={"y": -0.3})
    figure.update_yaxes(autorange="reversed")
    figure.update_xaxes(zeroline=True, zerolinecolor=colours["line"])
    return figure


def layer_bars(shares: Mapping[str, Sequence[float]], theme: str) -> go.Figure:
    """The share of all scores that each layer has, one colour and pattern a bank."""
    figure = go.Figure()
    for (bank, of_layers), colour, pattern in zip(shares.items(), SERIES[theme], ("", "/", "x"), strict=False):
        figure.add_bar(
            name=bank.capitalize(),
            x=[str(layer) for layer in range(len(of_layers))],
            y=[100 * share for share in of_layers],
            marker={"color": colour, "pattern": {"shape": pattern, "fillmode": "overlay"}},
            hovertemplate=f"{bank} layer %{{x}}: %{{y:.1f}} %<extra></extra>",
        )
    base_layout(figure, theme, height=260)
    figure.update_layout(barmode="group")
    figure.update_xaxes(title="Layer")
    figure.update_yaxes(title="Share of all scores, %")
    return figure
