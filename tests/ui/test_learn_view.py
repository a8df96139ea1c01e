from __future__ import annotations

from typing import Any

import pytest

from models.heads import HeadId
from ui.learn_view import Movie, bank_figure, movie_figure, movie_title
from ui.training_chart import training_chart

HEADS = [HeadId("encoder", 0, head) for head in range(3)] + [HeadId("cross", 0, head) for head in range(2)]


def told(step: int, gates: list[float] | None = None, **more: Any) -> dict[str, Any]:
    given = {"phase": "gates", "step": step, "steps": 20, "gates": gates, **more}
    return {name: value for name, value in given.items() if value is not None}


POINTS = [
    told(0, [1.0, 1.0, 1.0, 1.0, 1.0]),
    told(5, loss=0.3, value=0.9),
    told(10, [0.2, 0.9, 0.6, 1.0, 0.9]),
    told(20, [0.0, 0.8, 0.1, 1.0, 0.6], value=0.8),
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


def test_open_gates_are_counted_by_bank() -> None:
    assert MOVIE.n_open(0) == {"encoder": 3, "cross": 2}
    assert MOVIE.n_open(2) == {"encoder": 1, "cross": 2}


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
    assert movie_title(MOVIE, 0) == "The gate movie: 5 of 5 gates are open"
    alone = Movie.of(HEADS[:3], [told(0, [1.0, 0.0, 0.0])])
    assert movie_title(alone, 0) == "The gate movie: 1 of 3 encoder gates are open"


def test_the_lines_count_what_is_open() -> None:
    figure = bank_figure(MOVIE, 2, "dark")
    assert {trace.name: list(trace.y) for trace in figure.data} == {"Encoder 1": [3, 2, 1], "Cross 2": [2, 2, 2]}


def test_the_metric_of_both_trainings_follows_one_after_the_other() -> None:
    full = {"metric": "accuracy", "value": 0.95}
    figure = training_chart(POINTS, {"gates": "gates", "fine-tuning": "then"}, full, "light")
    first, second = figure.data
    assert figure.layout.annotations[0].text == "full model 95.0\N{NO-BREAK SPACE}%"
    assert list(first.x) == [5, 20]
    assert list(first.y) == pytest.approx([90, 80])
    assert (list(second.x), list(second.y)) == ([25], [pytest.approx(85)])
