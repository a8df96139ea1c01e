"""The gate movie of a short training, which starts by itself and is kept."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import streamlit as st

from jobs.kinds.learn import LearnRun
from jobs.run import Run
from models.heads import HeadGrid, HeadId
from ui.asking import store
from ui.choice import Choice
from ui.head_grid import GridLook, look_html
from ui.learn_view import PHASES, Movie, movie_figure, movie_title
from ui.lesson_controls.control import Control, Stage, register
from ui.lesson_parts import followed, grid_of, show_chart, title_html
from ui.metric_text import change_text, metric_text
from ui.shell import theme

NAMED = {"l0": "L0 gates", "layerwise": "layer-wise gates", "dsp": "subset gates", "dsp-ste": "straight-through gates"}


@register
@dataclass(frozen=True)
class GateMovie(Control):
    """A run of learned gates; `scheme` are the options of the gates."""

    gates: str = "l0"
    scheme: Mapping[str, Any] = field(default_factory=dict)
    banks: str = ""
    weights: str = "trained"
    n_steps: int = 60
    finetune: int = 0

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
            **choice.judged,
        )

    def show(self, stage: Stage) -> str:
        """The movie at the right; a scrubber and the gates at that step at the left."""
        grid = grid_of(stage.choice)
        if grid is None:
            return ""
        with stage.right.container(border=True):
            run = followed(self.run(stage.choice), lambda one: self._draw(stage, grid, one))
        return "" if run is None else learned_told(run)

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
        source = f"{NAMED[self.gates]}, {self.n_steps} steps on calibration · one line a head, dark = open · {phase}"
        title.html(title_html(movie_title(movie, frame), source))
        with chart:
            show_chart(stage, movie_figure(movie, max(self.n_steps, movie.steps[-1]), frame, theme()), "movie")

    def _frame(self, stage: Stage, grid: HeadGrid, movie: Movie) -> int:
        """The frame of the scrubber, with its gates as a grid."""
        last = len(movie.steps) - 1
        frame = stage.slider("Frame of the film", "frame", 0, last, last) if last else 0
        with stage.left:
            gates = movie.at(frame)
            look = GridLook(shades=gates, ramp="gate", size="mini")
            opened = sum(movie.n_kept(frame).values())
            st.html(
                f'<div class="hl-beside"><div class="hl-big"><b>{opened} / {len(movie.heads)}</b>'
                f"<span>heads would stay, step {movie.steps[frame]}</span></div>"
                f"<div>{look_html(grid, look, theme())}</div></div>"
            )
        return frame


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
