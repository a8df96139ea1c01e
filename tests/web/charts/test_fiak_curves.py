from __future__ import annotations

from typing import Any

import pytest

from headscope.web.charts.fiak_curves import Pruned, fractions_figure, fractions_title, loss_figure


def run(share: float, value: float, low: float = -0.02, high: float = 0.01, by: str = "prior", **spec: float) -> Pruned:
    """A run that left so much, and how far its metric is from dense."""
    estimate = {"metric": "accuracy", "value": value, "low": value - 0.05, "high": value + 0.03, "n": 100}
    result: dict[str, Any] = {
        "savings": {"scores": 1000, "scores_kept": round(1000 * (1 - share))},
        "measured": {"dense": {"test": estimate | {"value": 0.9}}, "tuned": {"test": estimate}},
        "change": {"test": {"difference": value - 0.9, "low": low, "high": high}},
        "higher_is_better": True,
    }
    return Pruned.of({"scores": 0.5, "keys": 0.0, "by": by} | spec, result, "a <run>")


def test_every_kind_of_pruning_is_a_series_with_the_interval_of_each_run() -> None:
    points = [
        run(0.7, 0.6), run(0.5, 0.8), run(0.7, 0.7), run(0.7, 0.65, keys=0.2), run(0.3, 0.85, scores=0.0, keys=0.3),
        run(0.7, 0.4, by="random"),
    ]  # fmt: skip
    figure = fractions_figure(points, "light")
    shown = {trace.name: trace for trace in figure.data if trace.mode == "markers"}
    assert list(shown) == ["scores", "mixed", "keys", "at random"]
    assert list(shown["scores"].x) == pytest.approx([50, 70, 70])
    assert list(shown["scores"].y) == pytest.approx([80, 60, 70])
    assert list(shown["scores"].error_y.arrayminus) == pytest.approx([5, 5, 5])
    assert list(shown["keys"].x) == pytest.approx([30])
    assert shown["keys"].text == ("a &lt;run&gt;",)
    (line,) = (trace for trace in figure.data if trace.mode == "lines")
    assert list(line.x) == pytest.approx([50, 70])
    assert list(line.y) == pytest.approx([80, 65])
    assert figure.layout.shapes[0].y0 == 90


def test_the_title_tells_the_most_that_went_for_nothing() -> None:
    points = [run(0.3, 0.9), run(0.5, 0.9), run(0.7, 0.6, -0.4, -0.2), run(0.9, 0.9, by="random")]
    assert fractions_title(points) == "50\N{NO-BREAK SPACE}% of scores went without a loss of accuracy that shows"


def test_the_title_tells_the_least_loss_where_every_share_costs() -> None:
    points = [run(0.7, 0.6, -0.4, -0.2), run(0.5, 0.8, -0.2, -0.05)]
    told = fractions_title(points).replace("\N{NO-BREAK SPACE}", " ")
    assert told == "Every share that was tried costs accuracy: 50 % of scores, \N{MINUS SIGN}10.0 pt"


def test_more_perplexity_is_a_loss() -> None:
    worse = run(0.5, 0.8, 0.1, 0.4)
    assert not worse.costs
    assert Pruned(**{**vars(worse), "higher_is_better": False}).costs


def test_the_loss_goes_on_where_the_first_training_ended() -> None:
    points = [
        {"phase": "priors", "step": 5, "loss": 2.0}, {"phase": "priors", "step": 10, "loss": 1.5},
        {"phase": "tuning", "step": 0, "loss": None}, {"phase": "tuning", "step": 5, "loss": 1.0},
    ]  # fmt: skip
    first, second = loss_figure(points, {"priors": "a", "tuning": "b"}, "dark").data
    assert (list(first.x), list(first.y)) == ([5, 10], [2.0, 1.5])
    assert (list(second.x), list(second.y)) == ([15], [1.0])
