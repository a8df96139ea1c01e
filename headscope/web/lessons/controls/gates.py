"""The gate movie of a short training, which starts by itself and is kept."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import streamlit as st

from headscope.models.heads import HeadGrid, HeadId
from headscope.runs.kind import Kind
from headscope.runs.kinds.learn import LearnRun
from headscope.runs.run import Run
from headscope.web.charts.learn_view import PHASES, Movie, movie_figure, movie_title
from headscope.web.charts.metric_text import change_text, metric_text
from headscope.web.grid.head_grid import GridStyle
from headscope.web.lessons.control import NOTHING, Control, Found, Stage, register
from headscope.web.lessons.parts import (
    big_html,
    followed,
    grid_beside,
    grid_of,
    lost,
    show_chart,
    significantly_worse,
    title_html,
)
from headscope.web.page.choice import Choice, head_in_link
from headscope.web.page.shell import theme
from headscope.web.runs.requests import known, store

NAMED = {"l0": "L0 gates", "layerwise": "layer-wise gates", "dsp": "subset gates", "dsp-ste": "straight-through gates"}


@register
@dataclass(frozen=True)
class GateMovie(Control):
    """A run of learned gates; `scheme` are the options of the gates.

    `n` examples judge what comes of it, all if none is named; during the training it is judged `every` so many steps.
    A step may claim that the `share` of the heads goes for less than `cost` of the metric, or without a significant
    loss if no cost is named, or that the gates end worse than those of the scheme `against`.
    """

    gates: str = "l0"
    scheme: Mapping[str, Any] = field(default_factory=dict)
    banks: str = ""
    weights: str = "trained"
    n_steps: int = 60
    finetune: int = 0
    n: int | None = None
    every: int = 0
    share: float = 0.0
    cost: float = 0.0
    against: Mapping[str, Any] = field(default_factory=dict)

    key = "gates"

    def run(self, choice: Choice) -> LearnRun:
        """The training."""
        return LearnRun(
            choice.model,
            self.gates,
            dict(self.scheme),
            self.banks,
            self.weights,
            self.n_steps,
            self.finetune,
            n=self.n,
            training={"every": self.every} if self.every else {},
            **choice.judged,
        )

    def trainings(self, choice: Choice) -> list[Kind]:
        """The one."""
        return [self.run(choice)]

    def show(self, stage: Stage) -> Found:
        """The movie at the right; a scrubber and the gates at that step at the left."""
        grid = grid_of(stage.choice)
        if grid is None:
            return NOTHING
        with stage.right.container(border=True):
            run = followed(self.run(stage.choice), lambda one: self._draw(stage, grid, one))
        if run is None:
            return NOTHING
        return Found(learned_told(run), self.holds(run, self._slow(stage.choice)), head_in_link(grid))

    def holds(self, run: Run, slow: Run | None) -> bool | None:
        """What the step claims: exactly K heads stay, or it ends worse than `slow`, or many go at little cost."""
        result = run.result or {}
        if "keep" in self.scheme:
            return bool(len(result["gates"]) - result["removed"] == self.scheme["keep"])
        if self.against:
            return None if slow is None else loss_on_test(run) > loss_on_test(slow)
        if not self.share:
            return None
        many = result["removed"] >= self.share * len(result["gates"])
        cheap = (
            loss_on_test(run) < self.cost
            if self.cost
            else not significantly_worse(result["report"]["test"]["change"], result)
        )
        return bool(many and cheap)

    def _slow(self, choice: Choice) -> Run | None:
        """The training that this one is compared with, once it is done."""
        return known(replace(self, scheme=self.against, against={}).run(choice)) if self.against else None

    def _draw(self, stage: Stage, grid: HeadGrid, run: Run) -> None:
        title, chart = st.empty(), st.container()
        points = store().points(run.id)
        movie = movie_of(run, grid, points)
        if not movie.steps:
            title.html(title_html("The first gates will show here in a moment", "a job that goes on when you leave"))
            return
        last = len(movie.steps) - 1
        frame = self._frame(stage, grid, movie) if run.ended else last
        phase = "done" if run.ended else PHASES[points[-1]["phase"]]
        seen = f" on {run.result['split']} examples" if run.result else ""
        source = f"{NAMED[self.gates]}, {self.n_steps} steps{seen} · one line a head, dark = open · {phase}"
        title.html(title_html(movie_title(movie, frame), source))
        with chart:
            show_chart(stage, movie_figure(movie, max(self.n_steps, movie.steps[-1]), frame, theme()), "movie")

    def _frame(self, stage: Stage, grid: HeadGrid, movie: Movie) -> int:
        """The frame of the scrubber, with its gates as a grid."""
        last = len(movie.steps) - 1
        frame = stage.slider("Frame of the film", "frame", 0, last, last) if last else 0
        opened = sum(movie.n_kept(frame).values())
        number = big_html(f"{opened} / {len(movie.heads)}", f"heads would stay, step {movie.steps[frame]}")
        grid_beside(stage, number, grid, GridStyle(shades=movie.at(frame), ramp="gate", size="mini"))
        return frame


def loss_on_test(run: Run) -> float:
    """How much worse the smaller model of a finished run is on test, whichever way the metric goes."""
    result = run.result or {}
    test = result["report"]["test"]
    return lost(test["after"], test["before"] | {"higher_is_better": result["higher_is_better"]})


def movie_of(run: Run, grid: HeadGrid, points: list[dict[str, Any]]) -> Movie:
    """The gates of a run as they were told."""
    banks = run.spec["banks"].split() or [bank.bank for bank in grid.banks]
    return Movie.of([head for head in grid if head.bank in banks], points)


def kept_by(run: Run) -> frozenset[HeadId]:
    """The heads whose gates a finished run left open."""
    gone = set(run.result["mask"].split()) if run.result else set()
    return frozenset(HeadId.parse(head) for head in (run.result or {}).get("gates", {}) if head not in gone)


def learned_told(run: Run) -> str:
    """What a finished run removed, and what that costs."""
    result = run.result or {}
    test = result["report"]["test"]
    n_heads = len(result["gates"])
    metric = result["metric"]
    change = change_text(metric, test["after"]["value"] - test["before"]["value"])
    return (
        f"{result['removed']} of {n_heads} heads removed, {metric} {metric_text(metric, test['after']['value'])} on "
        f"test ({change})."
    )
