"""A run of learned gates as figures: the gate movie, what is open in each bank, and the metric on the way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import plotly.graph_objects as go

from headscope.models.heads import HeadId
from headscope.runs.run import DONE, Run, duration
from headscope.web.charts.layout import base_layout
from headscope.web.charts.metric_text import axis_title, metric_text, scale
from headscope.web.charts.palette import GATE, SERIES, VARIABLES

PHASES = {
    "attached": "gates attached",
    "gates": "learning gates",
    "removed": "heads removed",
    "fine-tuning": "fine-tuning the smaller model",
}
HALF = 0.5
OUTLAYS = {"loss": "Loss", "penalty": "Penalty"}

Point = Mapping[str, Any]


@dataclass(frozen=True)
class Movie:
    """Every gate at every step at which it was told: `values[frame][head]`.

    `kept` says in the same way whether the head would stay if this were the end, by the rule of its gates; `n_open` is
    the expected number of open gates of each frame.
    """

    heads: tuple[HeadId, ...]
    steps: tuple[int, ...]
    values: tuple[tuple[float, ...], ...]
    kept: tuple[tuple[bool, ...], ...]
    n_open: tuple[float, ...]

    @classmethod
    def of(cls, heads: Sequence[HeadId], points: Sequence[Point]) -> Movie:
        """The frames among the points of a run."""
        frames = [point for point in points if point.get("gates") is not None]
        return cls(
            tuple(heads),
            tuple(point["step"] for point in frames),
            tuple(tuple(point["gates"]) for point in frames),
            tuple(map(_kept, frames)),
            tuple(point.get("n_open", sum(point["gates"])) for point in frames),
        )

    def at(self, frame: int) -> dict[HeadId, float]:
        """The gates of one frame."""
        return dict(zip(self.heads, self.values[frame], strict=True))

    def in_order(self) -> list[int]:
        """The heads bank after bank, those that stay open longest first."""
        total = [sum(frame[place] for frame in self.values) for place in range(len(self.heads))]
        banks = list(dict.fromkeys(head.bank for head in self.heads))
        return sorted(range(len(self.heads)), key=lambda place: (banks.index(self.heads[place].bank), -total[place]))

    def n_kept(self, frame: int) -> dict[str, int]:
        """How many heads of each bank would stay."""
        counts: dict[str, int] = {}
        for head, kept in zip(self.heads, self.kept[frame], strict=True):
            counts[head.bank] = counts.get(head.bank, 0) + kept
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
    """How many heads of each bank would stay, step after step."""
    figure = go.Figure()
    counts = [movie.n_kept(frame) for frame in range(len(movie.steps))]
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
    figure.update_yaxes(title="Heads that would stay", rangemode="tozero")
    figure.update_xaxes(title="Training step", showgrid=False)
    _add_now(figure, movie.steps[now], theme)
    return figure


def outlay_figure(points: Sequence[Point], theme: str) -> go.Figure:
    """Loss and penalty over the steps of the gates, both in the unit of the loss; without a price, the loss alone."""
    told = [point for point in points if point["phase"] == "gates" and point.get("loss") is not None]
    figure = go.Figure()
    for number, (name, title) in enumerate(OUTLAYS.items()):
        if name == "loss" or any(point.get(name) for point in told):
            figure.add_scatter(
                x=[point["step"] for point in told],
                y=[point.get(name) for point in told],
                mode="lines",
                name=title,
                line={"color": SERIES[theme][number], "width": 3, "dash": ("solid", "dash")[number]},
            )
    base_layout(figure, theme, 220)
    figure.update_layout(showlegend=True)
    figure.update_yaxes(title="Mean a step", rangemode="tozero")
    figure.update_xaxes(title="Training step", showgrid=False)
    return figure


def outlay_title(points: Sequence[Point]) -> str:
    """How the loss went, and what is paid for open gates."""
    told = [point for point in points if point["phase"] == "gates" and point.get("loss") is not None]
    if not told:
        return "Loss and penalty will show here in a moment"
    first, last = told[0], told[-1]
    paid = f", penalty {last['penalty']:.3g}" if last.get("penalty") else ""
    return f"Loss of training: {first['loss']:.3g} to {last['loss']:.3g}{paid}"


def time_asked(runs: Sequence[Run], steps: int, now: float) -> str:
    """How long so many steps will take by the latest run that is done; empty where there is none."""
    done = [run for run in runs if run.state == DONE and run.total]
    if not done:
        return ""
    last = max(done, key=lambda run: run.finished or 0.0)
    asked = last.spec["n_steps"] + last.spec["finetune"]
    return f"About {duration(last.seconds(now) * steps / asked)}, by the latest run of this model. "


def movie_title(movie: Movie, now: int) -> str:
    """Which bank closed most, from the numbers drawn."""
    counts = movie.n_kept(now)
    sizes = {bank: sum(head.bank == bank for head in movie.heads) for bank in counts}
    shares = {bank: counts[bank] / sizes[bank] for bank in counts}
    if len(shares) == 1:
        ((bank, n),) = counts.items()
        return f"The gate movie: {n} of {sizes[bank]} {bank} heads would stay"
    low, high = min(shares, key=shares.__getitem__), max(shares, key=shares.__getitem__)
    if shares[low] == shares[high]:
        return f"The gate movie: {sum(counts.values())} of {sum(sizes.values())} heads would stay"
    return (
        f"The gate movie: most {low} gates closed, most {high} gates hold on"
        if (shares[low] < HALF < shares[high])
        else f"The gate movie: {low} gates close more than {high} gates"
    )


def _kept(point: Point) -> tuple[bool, ...]:
    """Which heads would stay; in runs that told only how many, those with the highest gates."""
    if point.get("kept") is not None:
        return tuple(map(bool, point["kept"]))
    gates = point["gates"]
    highest = sorted(range(len(gates)), key=lambda place: -gates[place])[: point["n_kept"]]
    return tuple(place in highest for place in range(len(gates)))


def _add_now(figure: go.Figure, step: int, theme: str) -> None:
    colours = VARIABLES[theme]
    figure.add_vline(x=step, line={"color": colours["amber"], "width": 3})


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
