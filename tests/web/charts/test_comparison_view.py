"""The comparison at equal K as figure, table and sentence."""

from __future__ import annotations

from typing import Any

import pytest

from headscope.pruning.search.method_comparison import WAYS
from headscope.runs.kinds.method_comparison import WAYS as NAMES
from headscope.web.charts.comparison_view import comparison_figure, comparison_rows, comparison_title, values_of


def entry(way: str, keep: int, seed: int, old: float | None, trained: float) -> dict[str, Any]:
    def told(value: float | None) -> dict[str, Any] | None:
        return None if value is None else {"metric": "accuracy", "value": value, "low": 0.0, "high": 1.0}

    return {"way": way, "keep": keep, "seed": seed, "mask": "", "old": told(old), "trained": told(trained)}


ENTRIES = [
    entry("dsp", 4, 0, 0.2, 0.6),
    entry("dsp", 4, 1, 0.4, 0.8),
    entry("dsp", 4, 2, 0.3, 0.7),
    entry("gradient", 4, 0, 0.5, 0.65),
    entry("gradient", 12, 0, 0.9, 0.95),
    entry("scratch", 4, 0, None, 0.3),
]


def test_every_way_of_the_library_has_a_name_for_people() -> None:
    assert list(NAMES) == list(WAYS)


def test_lines_are_means_with_bars_from_the_lowest_to_the_highest_seed() -> None:
    figure = comparison_figure(ENTRIES, "trained", {"value": 0.97}, "light")
    lines = {line.name: line for line in figure.data}
    assert list(lines) == ["subset gates", "gradient order", "new weights"]
    assert list(lines["subset gates"].x) == [4]
    assert list(lines["subset gates"].y) == [pytest.approx(70)]
    assert list(lines["subset gates"].error_y.array) == [pytest.approx(10)]
    assert list(lines["subset gates"].error_y.arrayminus) == [pytest.approx(10)]
    assert list(lines["gradient order"].x) == [4, 12]
    assert figure.layout.shapes[0].y0 == pytest.approx(97)


def test_regimes_are_never_mixed() -> None:
    assert [line.name for line in comparison_figure(ENTRIES, "old", None, "dark").data] == [
        "subset gates", "gradient order"
    ]  # fmt: skip
    assert values_of(ENTRIES, "dsp", 4, "old") == [0.2, 0.4, 0.3]


def test_the_table_has_a_row_a_way_and_regime_and_a_column_a_number() -> None:
    rows = comparison_rows(ENTRIES)
    assert [(row["way"], row["weights"]) for row in rows] == [
        ("subset gates", "weights as they were"),
        ("gradient order", "weights as they were"),
        ("subset gates", "after training"),
        ("gradient order", "after training"),
        ("new weights", "after training"),
    ]
    assert list(rows[0])[2:] == ["12 stay", "4 stay"]
    assert (rows[2]["12 stay"], rows[3]["12 stay"]) == ("", "95.0\N{NO-BREAK SPACE}%")
    assert rows[2]["4 stay"].startswith("70.0\N{NO-BREAK SPACE}% (60.0 to 80.0")


def test_the_title_names_the_best_way_whichever_way_the_metric_goes() -> None:
    assert comparison_title(ENTRIES, True).startswith("With 4 heads left subset gates is best: 70.0")
    assert comparison_title(ENTRIES, False).startswith("With 4 heads left new weights is best: 30.0")
