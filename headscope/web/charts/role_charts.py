"""Figures of roles: pure functions of plain values."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import plotly.graph_objects as go

from headscope.web.charts.layout import FONT
from headscope.web.charts.palette import IMPORTANCE, ROLE_PATTERNS, ROLES, VARIABLES
from headscope.web.runs.role_facts import NONE

NEAR, FAR = 5, 12
"""Offsets that are always drawn, and that are drawn at most."""

WORTH_SEEING = 0.02


def offset_bars(histogram: Mapping[str, float], asked: float, theme: str, height: int = 250) -> go.Figure:
    """The share of tokens whose strongest attention goes to each offset, and the line that the test asks for."""
    shares = {int(offset): 100 * share for offset, share in histogram.items()}
    shown = [offset for offset, share in shares.items() if share >= 100 * WORTH_SEEING]
    low, high = max(-FAR, min([-NEAR, *shown])), min(FAR, max([NEAR, *shown]))
    if not any(offset > 0 for offset in shares):
        low, high = min(low, -2 * NEAR), 0
    offsets = list(range(low, high + 1))
    values = [shares.get(offset, 0.0) for offset in offsets]
    best = max(offsets, key=lambda offset: shares.get(offset, 0.0))
    passes = shares.get(best, 0.0) >= 100 * asked
    strong, weak = ROLES[theme]["positional"][0] if passes else VARIABLES[theme]["second"], VARIABLES[theme]["gone"]
    figure = go.Figure(
        go.Bar(
            x=offsets,
            y=values,
            marker={"color": [strong if offset == best else weak for offset in offsets]},
            text=[f"{value:.0f} %" if offset == best else "" for offset, value in zip(offsets, values, strict=True)],
            textposition="outside",
            textangle=0,
            constraintext="none",
            textfont={"size": 14},
            cliponaxis=False,
            hovertemplate="%{x}: %{y:.1f} %<extra></extra>",
        )
    )
    _plain(figure, theme, height)
    figure.add_hline(y=100 * asked, line={"dash": "dash", "width": 1.5, "color": VARIABLES[theme]["second"]})
    figure.add_annotation(
        text=f"test: {100 * asked:.0f} %", x=1, xref="paper", y=100 * asked, yshift=-11, xanchor="right",
        showarrow=False, font={"size": 13, "color": VARIABLES[theme]["second"]},
    )  # fmt: skip
    ticks = [offset for offset in offsets if offset % 2 or offset == 0] if len(offsets) < 16 else offsets[::3]
    figure.update_xaxes(
        title_text="tokens before (−) or after (+)", tickvals=ticks, ticktext=[signed(one) for one in ticks]
    )
    figure.update_yaxes(title_text="% of tokens", range=[0, 114], tickvals=[0, 50, 100])
    return figure


def offset_map(histogram: Mapping[str, float], theme: str, height: int = 250) -> go.Figure:
    """The same for an image: down and to the right, from the patch that looks, which has the ring."""
    shares = {tuple(int(part) for part in offset.split()): share for offset, share in histogram.items()}
    reach = max((max(map(abs, offset)) for offset in shares), default=1)
    grid = np.zeros((2 * reach + 1, 2 * reach + 1))
    for (down, right), share in shares.items():
        grid[down + reach, right + reach] = 100 * share
    around = list(range(-reach, reach + 1))
    steps = IMPORTANCE[theme]
    figure = go.Figure(
        go.Heatmap(
            z=grid,
            x=around,
            y=around,
            colorscale=[[place / (len(steps) - 1), colour] for place, colour in enumerate(steps)],
            zmin=0,
            xgap=2,
            ygap=2,
            showscale=False,
            hovertemplate="%{y} down, %{x} right: %{z:.1f} %<extra></extra>",
        )
    )
    _plain(figure, theme, height)
    names = [signed(one) for one in around]
    figure.update_xaxes(
        title_text="patches to the right", tickvals=around, ticktext=names, showgrid=False, zeroline=False
    )
    figure.update_yaxes(title_text="patches down", tickvals=around, ticktext=names, showgrid=False, zeroline=False,
                        autorange="reversed", scaleanchor="x", constrain="domain")  # fmt: skip
    figure.update_xaxes(constrain="domain", ticks="", showline=False)
    here = {"color": VARIABLES[theme]["amber"], "width": 3}
    figure.add_shape(type="rect", x0=-0.5, x1=0.5, y0=-0.5, y1=0.5, line=here)
    return figure


def role_bars(
    counts: Mapping[str, Mapping[str, int]], letters: Mapping[str, str], theme: str, height: int = 300
) -> go.Figure:
    """Heads by role, one bar for each step, stacked in the order of the palette; heads without a role on top."""
    colours = VARIABLES[theme]
    steps = list(counts)
    most = max((sum(own.values()) for own in counts.values()), default=0)
    figure = go.Figure()
    for key in [*ROLES[theme], NONE]:
        numbers = [counts[step].get(key, 0) for step in steps]
        if not any(numbers):
            continue
        fill, ink = ROLES[theme].get(key, (colours["page"], colours["second"]))
        letter = letters.get(key, NONE)
        figure.add_bar(
            name=key,
            x=steps,
            y=numbers,
            marker={
                "color": fill,
                "line": {"color": colours["gone"] if key == NONE else colours["page"], "width": 1},
                "pattern": {"shape": ROLE_PATTERNS.get(key, ""), "fillmode": "overlay", "fgopacity": 0.25, "size": 7},
            },
            text=[letter if number >= most / 14 else "" for number in numbers],
            textposition="inside",
            insidetextanchor="middle",
            textangle=0,
            constraintext="none",
            textfont={"size": 13, "color": ink},
            hovertemplate=f"%{{y}} {key}<extra></extra>",
        )
    _plain(figure, theme, height)
    figure.update_layout(barmode="stack", bargap=0.28)
    figure.update_xaxes(title_text="heads kept", type="category")
    figure.update_yaxes(title_text="heads")
    return figure


def signed(number: int) -> str:
    """A number with a real sign."""
    return f"+{number}" if number > 0 else str(number).replace("-", "\N{MINUS SIGN}")


def _plain(figure: go.Figure, theme: str, height: int) -> None:
    colours = VARIABLES[theme]
    figure.update_layout(
        height=height,
        margin={"l": 8, "r": 26, "t": 12, "b": 8},
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        font={"family": FONT, "size": 14, "color": colours["text"]},
        showlegend=False,
        dragmode=False,
    )
    axis = {
        "tickfont": {"size": 13, "color": colours["second"]},
        "title_font": {"size": 14, "color": colours["second"]},
    }
    figure.update_xaxes(**axis, showgrid=False, linecolor=colours["line"], fixedrange=True)
    figure.update_yaxes(**axis, gridcolor=colours["line"], zeroline=False, fixedrange=True)
