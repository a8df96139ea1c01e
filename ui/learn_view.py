"""A run of learned gates as figures: the gate movie, what is open in each bank, and the metric on the way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import plotly.graph_objects as go

from models.heads import HeadId
from ui.charts import base_layout
from ui.palette import GATE, SERIES, VARIABLES

PHASES = {
    "attached": "gates attached",
    "gates": "learning gates",
    "removed": "heads removed",
    "fine-tuning": "fine-tuning the smaller model",
}
OPEN = 0.5
"""A gate above this is counted as open."""

Point = Mapping[str, Any]


@dataclass(frozen=True)
class Movie:
    """Every gate at every step at which it was told: `values[frame][head]`."""

    heads: tuple[HeadId, ...]
    steps: tuple[int, ...]
    values: tuple[tuple[float, ...], ...]

    @classmethod
    def of(cls, heads: Sequence[HeadId], points: Sequence[Point]) -> Movie:
        """The frames among the points of a run."""
        frames = [point for point in points if point.get("gates") is not None]
        return cls(
            tuple(heads), tuple(point["step"] for point in frames), tuple(tuple(point["gates"]) for point in frames)
        )

    def at(self, frame: int) -> dict[HeadId, float]:
        """The gates of one frame."""
        return dict(zip(self.heads, self.values[frame], strict=True))

    def in_order(self) -> list[int]:
        """The heads bank after bank, those that stay open longest first."""
        total = [sum(frame[place] for frame in self.values) for place in range(len(self.heads))]
        banks = list(dict.fromkeys(head.bank for head in self.heads))
        return sorted(range(len(self.heads)), key=lambda place: (banks.index(self.heads[place].bank), -total[place]))

    def n_open(self, frame: int) -> dict[str, int]:
        """How many gates of each bank are open."""
        counts: dict[str, int] = {}
        for head, value in self.at(frame).items():
            counts[head.bank] = counts.get(head.bank, 0) + (value > OPEN)
        return counts


def movie_figure(movie: Movie, total: int, now: int, theme: str) -> go.Figure:
    """One line a head, dark while its gate is open, and an amber line at the frame that is shown."""
    order = movie.in_order()
    colours = VARIABLES[theme]
    steps = GATE[theme]
    figure = go.Figure(
        go.Heatmap(
            x=list(movie.steps),
            y=list(range(len(order))),
            z=[[frame[place] for frame in movie.values] for place in order],
            text=[[str(movie.heads[place])] * len(movie.steps) for place in order],
            colorscale=[[place / (len(steps) - 1), colour] for place, colour in enumerate(steps)],
            zmin=0,
            zmax=1,
            showscale=False,
            hovertemplate="%{text}, step %{x}: gate %{z:.2f}<extra></extra>",
        )
    )
    base_layout(figure, theme, 330)
    figure.update_layout(margin={"t": 22})
    banks = [movie.heads[place].bank for place in order]
    middles = {bank: (banks.index(bank) + len(banks) - 1 - banks[::-1].index(bank)) / 2 for bank in banks}
    figure.update_yaxes(
        tickvals=list(middles.values()),
        ticktext=[bank.capitalize() for bank in middles],
        autorange="reversed",
        showgrid=False,
        tickfont={"size": 14},
    )
    for first in range(1, len(banks)):
        if banks[first] != banks[first - 1]:
            figure.add_hline(y=first - 0.5, line={"color": colours["page"], "width": 4})
    figure.update_xaxes(title="Training step", range=[0, total], showgrid=False)
    _add_now(figure, movie.steps[now], theme)
    return figure


def bank_figure(movie: Movie, now: int, theme: str) -> go.Figure:
    """How many heads of each bank are open, step after step."""
    figure = go.Figure()
    counts = [movie.n_open(frame) for frame in range(len(movie.steps))]
    for number, bank in enumerate(dict.fromkeys(head.bank for head in movie.heads)):
        figure.add_scatter(
            x=list(movie.steps),
            y=[frame[bank] for frame in counts],
            mode="lines",
            name=f"{bank.capitalize()} {counts[now][bank]}",
            line={"color": SERIES[theme][number % 4], "width": 3, "dash": ("solid", "dash", "dot")[number % 3]},
        )
    base_layout(figure, theme, 260)
    figure.update_layout(showlegend=True)
    figure.update_yaxes(title="Heads open", rangemode="tozero")
    figure.update_xaxes(title="Training step", showgrid=False)
    _add_now(figure, movie.steps[now], theme)
    return figure


def movie_title(movie: Movie, now: int) -> str:
    """Which bank closed most, from the numbers drawn."""
    counts = movie.n_open(now)
    sizes = {bank: sum(head.bank == bank for head in movie.heads) for bank in counts}
    shares = {bank: counts[bank] / sizes[bank] for bank in counts}
    if len(shares) == 1:
        ((bank, n),) = counts.items()
        return f"The gate movie: {n} of {sizes[bank]} {bank} gates are open"
    low, high = min(shares, key=shares.__getitem__), max(shares, key=shares.__getitem__)
    if shares[low] == shares[high]:
        return f"The gate movie: {sum(counts.values())} of {sum(sizes.values())} gates are open"
    return (
        f"The gate movie: most {low} gates closed, most {high} gates hold on"
        if (shares[low] < OPEN < shares[high])
        else f"The gate movie: {low} gates close more than {high} gates"
    )


def _add_now(figure: go.Figure, step: int, theme: str) -> None:
    colours = VARIABLES[theme]
    figure.add_vline(x=step, line={"color": colours["amber"], "width": 3})
