"""Figures: pure functions of plain values."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from ui.palette import IMPORTANCE, VARIABLES

FONT = "Source Sans, sans-serif"
CELL = 26
LEAST_HEIGHT, MOST_HEIGHT = 220, 720


def attention_matrix(
    weights: NDArray[np.float32], queries: Sequence[str], keys: Sequence[str], theme: str
) -> go.Figure:
    """One map: a row for each token that looks, a column for each token it looks at; dark is strong."""
    colours = VARIABLES[theme]
    steps = IMPORTANCE[theme]
    figure = go.Figure(
        go.Heatmap(
            z=weights,
            zmin=0.0,
            zmax=1.0,
            colorscale=[[place / (len(steps) - 1), colour] for place, colour in enumerate(steps)],
            showscale=False,
            xgap=2,
            ygap=2,
            customdata=[[[_plain(query), _plain(key)] for key in keys] for query in queries],
            hovertemplate="%{customdata[0]} looks at %{customdata[1]}: %{z:.2f}<extra></extra>",
        )
    )
    axis = {"showgrid": False, "zeroline": False, "tickfont": {"size": 13, "color": colours["text"]}}
    figure.update_xaxes(
        **axis, side="top", tickvals=list(range(len(keys))), ticktext=[_plain(key) for key in keys], tickangle=-90
    )
    figure.update_yaxes(
        **axis, autorange="reversed", tickvals=list(range(len(queries))), ticktext=[_plain(one) for one in queries]
    )
    figure.update_layout(
        height=int(np.clip(CELL * len(queries) + 110, LEAST_HEIGHT, MOST_HEIGHT)),
        margin={"l": 8, "r": 26, "t": 8, "b": 8},
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        font={"family": FONT, "color": colours["text"]},
    )
    return figure


def _plain(token: str) -> str:
    """A token as text: Plotly would read markup in it."""
    return token.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;") or "(empty)"
