from __future__ import annotations

from typing import Any

import pytest

from headscope.web.charts.curves import PARAMETERS, REMOVED, Chart, Curve, band, pareto_front, pruning_chart
from headscope.web.charts.palette import SERIES


def point(removed: int, value: float, **more: Any) -> dict[str, Any]:
    given = {"removed": removed, "value": value, "low": value - 0.1, "high": value + 0.1, "metric": "accuracy"}
    return given | {"parameters": 1_000_000 - 10_000 * removed} | more


CURVE = Curve("Gradient", [point(0, 0.9), point(5, 0.8), point(10, 0.5)])
RANDOM = [[point(5, 0.7), point(10, 0.4)], [point(5, 0.5), point(10, 0.2)], [point(5, 0.6)]]


def test_the_band_is_lowest_mean_and_highest_where_at_least_two_orders_are() -> None:
    assert band(RANDOM, REMOVED) == [(5.0, 0.5, pytest.approx(0.6), 0.7), (10.0, 0.2, pytest.approx(0.3), 0.4)]
    assert band(RANDOM[:1], REMOVED) == []


def test_the_chart_draws_shares_in_percent_with_their_intervals() -> None:
    figure = pruning_chart(Chart([CURVE], full=CURVE.points[0]), "light")
    line = next(trace for trace in figure.data if trace.name == "Gradient")
    assert list(line.y) == pytest.approx([90, 80, 50])
    assert figure.layout.yaxis.title.text == "Accuracy, %"
    edge = figure.data[0]
    assert max(edge.y) == pytest.approx(100)
    assert min(edge.y) == pytest.approx(40)


def test_what_was_trained_is_solid_and_filled_and_the_rest_dashed_and_open() -> None:
    trained = Curve("L0", CURVE.points, trained=True)
    figure = pruning_chart(Chart([CURVE, trained]), "dark")
    lines = {trace.name: trace for trace in figure.data if trace.name}
    assert (lines["Gradient"].line.dash, lines["L0"].line.dash) == ("dash", "solid")
    assert lines["Gradient"].marker.symbol.endswith("-open")
    assert not lines["L0"].marker.symbol.endswith("-open")
    assert lines["L0"].line.color == SERIES["dark"][1]


def test_random_orders_say_how_many_they_are_and_the_mask_has_its_own_line() -> None:
    here = point(7, 0.66)
    figure = pruning_chart(Chart([CURVE], RANDOM, CURVE.points[0], here), "light")
    assert any("range of 3" in (trace.name or "") for trace in figure.data)
    assert {shape.x0 for shape in figure.layout.shapes} >= {7}
    texts = [annotation.text for annotation in figure.layout.annotations]
    assert "your mask" in texts
    assert any(text.startswith("unpruned 90.0") for text in texts)


def test_a_mask_whose_metric_is_not_known_yet_is_only_a_line() -> None:
    figure = pruning_chart(Chart([CURVE], here={"removed": 3, "metric": ""}), "light")
    assert not any(trace.name == "your mask" for trace in figure.data)
    assert figure.layout.shapes[0].x0 == 3


def test_perplexity_that_explodes_is_drawn_on_a_logarithmic_axis() -> None:
    def of(*values: float) -> str:
        points = [point(n, value, metric="perplexity") for n, value in enumerate(values)]
        return str(pruning_chart(Chart([Curve("Gradient", points)]), "light").layout.yaxis.type)

    assert of(10, 12, 900) == "log"
    assert of(10, 12, 30) == "linear"


def test_the_front_holds_what_no_other_point_beats_in_both() -> None:
    points = [point(0, 0.9), point(10, 0.85), point(20, 0.88), point(30, 0.5), point(40, 0.5)]
    front = pareto_front(points, PARAMETERS, higher_is_better=True)
    assert [one["removed"] for one in front] == [40, 20, 0]
    brute = [
        one
        for one in points
        if not any(
            other is not one and other["parameters"] <= one["parameters"] and other["value"] >= one["value"]
            for other in points
        )
    ]
    assert sorted(one["removed"] for one in front) == sorted(one["removed"] for one in brute)


def test_for_perplexity_the_front_goes_down() -> None:
    points = [point(0, 10.0), point(10, 9.0), point(20, 30.0)]
    front = pareto_front(points, PARAMETERS, higher_is_better=False)
    assert [one["removed"] for one in front] == [20, 10]
