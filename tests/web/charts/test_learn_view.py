from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from headscope.models.heads import HeadId
from headscope.runs.run import DONE, Run
from headscope.web.charts.learn_view import (
    Movie,
    bank_figure,
    movie_figure,
    movie_title,
    outlay_figure,
    outlay_title,
    time_asked,
    training_chart,
)

HEADS = [HeadId("encoder", 0, head) for head in range(3)] + [HeadId("cross", 0, head) for head in range(2)]


RUN = Run(
    id="a", kind="learn", title="", model="looker", fingerprint="", spec={}, lane="long", state=DONE, created=0.0,
    started=0.0, finished=1.0, begun=0, done=9, total=9, message="", record={}, result={}, folder=Path(),
)  # fmt: skip


def told(step: int, gates: list[float] | None = None, kept: str = "", **more: Any) -> dict[str, Any]:
    given = {"phase": "gates", "step": step, "steps": 20, "gates": gates, **more}
    if gates is not None:
        given |= {"kept": list(map(int, kept)), "n_kept": kept.count("1"), "n_open": sum(gates)}
    return {name: value for name, value in given.items() if value is not None}


POINTS = [
    told(0, [1.0, 1.0, 1.0, 1.0, 1.0], "11111"),
    told(5, loss=0.3, value=0.9),
    told(10, [0.2, 0.9, 0.6, 1.0, 0.9], "01011", loss=0.2, penalty=0.1),
    told(20, [0.0, 0.8, 0.1, 1.0, 0.6], "01011", value=0.8),
    {"phase": "fine-tuning", "step": 5, "steps": 5, "value": 0.85},
]
MOVIE = Movie.of(HEADS, POINTS)


def test_only_points_that_tell_gates_are_frames() -> None:
    assert MOVIE.steps == (0, 10, 20)
    assert MOVIE.at(1)[HEADS[2]] == 0.6


def test_heads_stand_bank_after_bank_those_open_longest_first() -> None:
    assert [str(MOVIE.heads[place]) for place in MOVIE.in_order()] == [
        "encoder.0.1", "encoder.0.2", "encoder.0.0", "cross.0.0", "cross.0.1"
    ]  # fmt: skip


def test_the_heads_that_would_stay_are_counted_by_the_rule_of_the_gates_and_not_at_a_half() -> None:
    assert MOVIE.n_kept(0) == {"encoder": 3, "cross": 2}
    assert MOVIE.n_kept(1) == {"encoder": 1, "cross": 2}
    hot = Movie.of(HEADS, [told(0, [0.4] * 5, "10010")])
    assert hot.n_kept(0) == {"encoder": 1, "cross": 1}
    assert hot.n_open[0] == pytest.approx(2)


def test_a_run_that_told_only_how_many_stay_counts_the_highest_gates() -> None:
    older = {name: value for name, value in told(0, [0.6, 0.3, 0.2, 0.6, 0.1], "10010").items() if name != "kept"}
    assert Movie.of(HEADS, [older]).n_kept(0) == {"encoder": 1, "cross": 1}


def test_loss_and_penalty_are_drawn_over_the_steps_of_the_gates() -> None:
    figure = outlay_figure(POINTS, "light")
    assert {trace.name: (list(trace.x), list(trace.y)) for trace in figure.data} == {
        "Loss": ([5, 10], [0.3, 0.2]),
        "Penalty": ([5, 10], [None, 0.1]),
    }
    free = [{**point, "penalty": 0.0} for point in POINTS]
    assert [trace.name for trace in outlay_figure(free, "dark").data] == ["Loss"]
    assert outlay_title(POINTS) == "Loss of training: 0.3 to 0.2, penalty 0.1"
    assert outlay_title(POINTS[:1]) == "Loss and penalty will show here in a moment"


def test_the_time_a_run_will_take_is_that_of_the_latest_by_the_steps() -> None:
    assert time_asked([], 100, 0.0) == ""
    spec = {"n_steps": 30, "finetune": 20}
    runs = [replace(RUN, finished=finished, spec=spec) for finished in (1000.0, 600.0)]
    assert time_asked(runs, 100, 0.0) == "About 33 min, by the latest run of this model. "
    assert time_asked([replace(runs[0], state="failed")], 100, 0.0) == ""


def test_the_movie_draws_each_gate_in_its_row_and_marks_the_frame() -> None:
    figure = movie_figure(MOVIE, 20, 1, "light")
    drawn = figure.data[0]
    assert list(drawn.z[0]) == [1.0, 0.9, 0.8]
    assert list(drawn.z[2]) == [1.0, 0.2, 0.0]
    assert drawn.text[2][0] == "encoder.0.0"
    assert 10 in {shape.x0 for shape in figure.layout.shapes}
    assert list(figure.layout.yaxis.ticktext) == ["Encoder", "Cross"]
    assert list(figure.layout.yaxis.tickvals) == [1.0, 3.5]


def test_the_title_says_what_the_frame_shows() -> None:
    assert movie_title(MOVIE, 2) == "The gate movie: most encoder gates closed, most cross gates hold on"
    assert movie_title(MOVIE, 0) == "The gate movie: 5 of 5 heads would stay"
    alone = Movie.of(HEADS[:3], [told(0, [1.0, 0.0, 0.0], "100")])
    assert movie_title(alone, 0) == "The gate movie: 1 of 3 encoder heads would stay"


def test_the_lines_count_what_is_open() -> None:
    figure = bank_figure(MOVIE, 2, "dark")
    assert {trace.name: list(trace.y) for trace in figure.data} == {"Encoder 1": [3, 1, 1], "Cross 2": [2, 2, 2]}


def test_the_metric_of_both_trainings_follows_one_after_the_other() -> None:
    full = {"metric": "accuracy", "value": 0.95}
    figure = training_chart(POINTS, {"gates": "gates", "fine-tuning": "then"}, full, "light")
    first, second = figure.data
    assert figure.layout.annotations[0].text == "full model 95.0\N{NO-BREAK SPACE}%"
    assert list(first.x) == [5, 20]
    assert list(first.y) == pytest.approx([90, 80])
    assert (list(second.x), list(second.y)) == ([25], [pytest.approx(85)])
