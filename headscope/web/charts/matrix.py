"""One attention map as a square of cells: a row for each token that looks, a column for each token it looks at."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import numpy as np
from numpy.typing import NDArray

from headscope.web.charts.palette import importance_colour

SHADES = 40
MOST_NAMED = 1600
"""Cells of a matrix that say their weight when pointed at; larger ones would be slow."""


def matrix_html(
    weights: NDArray[np.float32], queries: Sequence[str], keys: Sequence[str], theme: str, named: bool = True
) -> str:
    """The matrix; dark is strong. Without `named` the columns have no labels, for places that are too narrow."""
    colours = [importance_colour(step / SHADES, theme) for step in range(SHADES + 1)]
    head = "".join(f"<b><span>{_plain(key)}</span></b>" for key in keys) if named else ""
    top = f"<span></span>{head}" if named else ""
    rows = "".join(
        f"<span>{_plain(query)}</span>{_cells(row, query, keys, colours)}"
        for query, row in zip(queries, weights.tolist(), strict=True)
    )
    return (
        f'<div class="hl-matrix" role="img" aria-label="{_spoken(weights, queries, keys)}" '
        f'style="--hl-columns:{len(keys)}">{top}{rows}</div>'
    )


def _cells(row: list[float], query: str, keys: Sequence[str], colours: Sequence[str]) -> str:
    shades = [colours[round(SHADES * min(max(weight, 0.0), 1.0))] for weight in row]
    if len(keys) ** 2 > MOST_NAMED:
        return "".join(f'<i style="background:{shade}"></i>' for shade in shades)
    return "".join(
        f'<i style="background:{shade}" title="{_plain(query)} looks at {_plain(key)}: {weight:.2f}"></i>'
        for shade, weight, key in zip(shades, row, keys, strict=True)
    )


def _spoken(weights: NDArray[np.float32], queries: Sequence[str], keys: Sequence[str]) -> str:
    """Where each token looks most, for those who cannot see it."""
    best = weights.argmax(axis=1)
    pairs = zip(queries, best, strict=True)
    return "; ".join(f"{_plain(query)} looks most at {_plain(keys[place])}" for query, place in pairs)


def _plain(token: str) -> str:
    return escape(token) or "(empty)"
