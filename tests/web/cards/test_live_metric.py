from __future__ import annotations

from typing import Any

from headscope.web.cards.live_metric import metric_tile, tiles_html


def point(removed: int, n: int, **more: Any) -> dict[str, Any]:
    given = {"metric": "accuracy", "value": 0.9, "low": 0.85, "high": 0.95, "p": 0.5, "worse": False}
    return given | {"removed": removed, "n": n, "parameters": 1_000_000 - removed, "flops": 2_000_000 - removed} | more


WHOLE = point(0, 360)


def test_a_quick_estimate_says_so_whatever_else_is_known() -> None:
    quick = point(3, 64, quick=True)
    for full in (None, WHOLE, point(0, 64, quick=True)):
        assert metric_tile(quick, full).value.startswith("≈ ")
    unpruned = point(0, 64, quick=True)
    assert metric_tile(unpruned, unpruned).value.startswith("≈ ")
    for full in (None, WHOLE):
        assert "≈" not in metric_tile(point(3, 360), full).value


def test_the_interval_stands_under_the_change_and_its_chance() -> None:
    tile = metric_tile(point(3, 360, value=0.8, low=0.75, high=0.85, p=0.004, worse=True), WHOLE)
    assert (tile.note, tile.mood) == ("\N{MINUS SIGN}10.0\N{NO-BREAK SPACE}pt · p = 0.004", "hl-bad")
    assert tile.below == "95\N{NO-BREAK SPACE}%: 75.0 to 85.0\N{NO-BREAK SPACE}%"


def test_nothing_is_compared_with_a_quick_estimate_of_the_unpruned_model() -> None:
    assert "p =" not in metric_tile(point(3, 360), point(0, 64, quick=True)).note


def test_operations_are_called_a_prediction() -> None:
    html = tiles_html(point(3, 360, flops=1_000_000), WHOLE, (33, 36))
    assert "<span>Operations</span>" in html
    assert "predicted speed 2.00\N{NO-BREAK SPACE}×" in html
    assert "counted, not timed" in tiles_html(WHOLE, WHOLE, (36, 36))
