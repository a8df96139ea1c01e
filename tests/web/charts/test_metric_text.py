from __future__ import annotations

import pytest

from headscope.web.charts.metric_text import axis_title, change_text, metric_text, point_text, range_text, share_text

SPACE = "\N{NO-BREAK SPACE}"


@pytest.mark.parametrize(
    ("metric", "value", "text"),
    [
        ("accuracy", 0.9512, f"95.1{SPACE}%"),
        ("BLEU", 96.298, "96.3"),
        ("perplexity", 10.0669, "10.07"),
        ("perplexity", 123456.7, "123,457"),
    ],
)
def test_a_metric_reads_as_people_say_it(metric: str, value: float, text: str) -> None:
    assert metric_text(metric, value) == text


def test_a_change_has_a_real_minus_and_shares_change_in_points() -> None:
    assert change_text("accuracy", -0.0131) == f"−1.3{SPACE}pt"
    assert change_text("BLEU", 0.31) == "+0.31"
    assert change_text("BLEU", -0.001) == "no change"


def test_a_change_of_any_size_is_told() -> None:
    assert change_text("perplexity", 15_906.2) == "+15,906"
    assert change_text("perplexity", -1_234_567.0) == "−1,234,567"
    assert change_text("perplexity", float("inf")) == "+inf"


def test_intervals_axes_and_shares() -> None:
    assert range_text("accuracy", 0.924, 0.967) == f"92.4 to 96.7{SPACE}%"
    assert axis_title("top-1 accuracy") == "Top-1 accuracy, %"
    assert axis_title("BLEU") == "BLEU"
    assert share_text(-0.256) == f"−26{SPACE}%"
    point = {"metric": "BLEU", "value": 50.0, "low": 45.0, "high": 55.0}
    assert point_text(point) == "50.0 (45.0 to 55.0)"
