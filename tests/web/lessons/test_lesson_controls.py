"""What the controls of lessons say, from plain values."""

from __future__ import annotations

import numpy as np
import pytest

from headscope.models.heads import HeadBank, HeadGrid, HeadId, LayerHeads
from headscope.web.grid.head_grid import MaskEdit
from headscope.web.lessons.controls import disagreement, layer_counts, shared_key
from headscope.web.lessons.controls.clicking import last_clicked, told
from headscope.web.lessons.controls.costly_pair import CostlyPair
from headscope.web.lessons.controls.curve import PruningCurve
from headscope.web.lessons.controls.one_head import all_but_one, layer_costs
from headscope.web.lessons.controls.priors import agreed, unseen_text
from headscope.web.lessons.controls.subset import kept_figure
from headscope.web.lessons.controls.weight_share import parameter_bars
from headscope.web.lessons.parts import lost, number_html, verdict_html

GRID = HeadGrid((HeadBank("encoder", (LayerHeads((0, 1, 2)), LayerHeads((0, 1, 2)))),))
FULL = {"metric": "accuracy", "value": 0.9, "low": 0.88, "high": 0.92, "n": 100, "p": None, "worse": False,
        "removed": 0, "higher_is_better": True}  # fmt: skip


def point(value: float, removed: int, worse: bool, n: int = 100) -> dict:
    return FULL | {"value": value, "low": value, "high": value, "removed": removed, "worse": worse, "p": 0.004, "n": n}


@pytest.mark.parametrize(
    ("n_off", "found", "says"),
    [
        (point(0.8, 1, True), False, "1 head off; switch off exactly 2."),
        (point(0.8, 3, True), False, "3 heads off; switch off exactly 2."),
        (point(0.8, 2, True), True, "Found: this pair costs −10.0 pt, p = 0.004. Is there a worse one?"),
        (point(0.88, 2, True), False, "Not yet: −2.0 pt, p = 0.004. Find a pair that costs at least −3.0 pt."),
        (point(0.8, 2, False), False, "Not yet: −10.0 pt, p = 0.004. Find a pair that costs at least −3.0 pt."),
        (point(0.8, 2, True, n=64), False, "Measuring …"),
    ],
)
def test_a_pair_is_found_if_it_costs_enough_and_more_than_chance(n_off: dict, found: bool, says: str) -> None:
    said = CostlyPair(worth=0.03).verdict(n_off["removed"], n_off, FULL)
    assert (said[0], said[1].replace("\N{NO-BREAK SPACE}", " ")) == (found, says)


def test_what_is_lost_is_positive_whichever_way_the_metric_goes() -> None:
    assert lost(point(0.8, 1, True), FULL) == pytest.approx(0.1)
    perplexity = FULL | {"value": 10.0, "higher_is_better": False}
    assert lost(point(12.0, 1, True), perplexity) == pytest.approx(2.0)


def test_a_number_that_is_an_estimate_says_so() -> None:
    assert "≈" in number_html(point(0.8, 1, True, n=64), FULL)
    whole = number_html(point(0.8, 1, True), FULL)
    assert "≈" not in whole and "80.0" in whole and "90.0" in whole
    assert "measuring" in number_html(None, FULL)


def test_texts_are_escaped() -> None:
    assert "&lt;b&gt;" in verdict_html(True, "<b>")
    assert "<i>" not in number_html(FULL | {"metric": "<i>"}, None)


def test_a_mask_is_told_with_its_cost() -> None:
    said = told(frozenset({HeadId("encoder", 0, 0)}), point(0.8, 1, True), FULL)
    assert said.replace("\N{NO-BREAK SPACE}", " ") == "1 head off: accuracy 80.0 % (−10.0 pt, p = 0.004)"
    assert told(frozenset(), FULL, FULL).startswith("All heads on: accuracy 90.0")


@pytest.mark.parametrize(
    ("steps", "head"), [((), None), (("0.1",), "0.1"), (("0.1", "1.2", "0.1"), "0.1"), (("0.1", "0.0 1.0"), None)]
)
def test_the_head_clicked_last_is_known_unless_a_box_came_after(steps: tuple[str, ...], head: str | None) -> None:
    turned = tuple(frozenset(HeadId.parse(f"encoder.{one}") for one in step.split()) for step in steps)
    found = last_clicked(MaskEdit(frozenset(), 1, turned))
    assert found == (head and HeadId.parse(f"encoder.{head}"))


def test_every_layer_in_turn_keeps_its_best_head_only() -> None:
    scores = dict(zip(GRID, (0.1, 0.9, 0.2, 5.0, 4.0, 3.0), strict=True))
    assert [GRID.spell(mask) for mask in all_but_one(GRID, "encoder", scores)] == [
        "encoder.0.0 encoder.0.2", "encoder.1.1 encoder.1.2"
    ]  # fmt: skip


def test_bars_of_layers_show_the_metric_in_per_cent_and_ring_the_one_that_is_picked() -> None:
    (bars,) = layer_costs({0: point(0.5, 2, True), 1: point(0.9, 2, False)}, FULL, 1, "light").data
    assert list(bars.y) == [50.0, 90.0]
    assert list(bars.marker.line.width) == [0, 4]


@pytest.mark.parametrize(
    ("head", "found", "says"), [("0.0", False, "both keep"), ("0.1", True, "only training"), ("0.2", True, "only rank"),
                                ("1.0", False, "both throw")],
)  # fmt: skip
def test_training_and_rank_disagree_on_a_head_that_one_of_them_keeps(head: str, found: bool, says: str) -> None:
    learned, ranked = GRID.parse("encoder.0.0 encoder.0.1"), GRID.parse("encoder.0.0 encoder.0.2")
    said = disagreement.verdict(HeadId.parse(f"encoder.{head}"), learned, ranked, 3)
    assert said[0] is found and says in said[1]


def test_the_fullest_layer_is_any_that_no_other_beats() -> None:
    counts = {HeadId("encoder", 0, 0): 2, HeadId("encoder", 1, 0): 3, HeadId("encoder", 2, 0): 3}
    said = [layer_counts.verdict(HeadId("encoder", layer, 1), counts) for layer in range(3)]
    assert [found for found, _ in said] == [False, True, True]
    assert said[0][1] == "Layer 0 kept 2. Another kept more."


def test_the_layer_in_which_most_heads_give_up_one_key_is_the_answer() -> None:
    keys = np.array([[False, False, False, True], [False, True, True, True]])
    assert agreed(keys) == (2, 2)
    found = {"encoder.0": (2, 3), "encoder.1": (3, 3)}
    assert shared_key.verdict("encoder.1", found) == (
        True, "Found: in encoder.1 3 of 3 heads give up the same key, and nowhere do more."
    )  # fmt: skip
    assert shared_key.verdict("encoder.0", found) == (
        False, "In encoder.0 2 of 3 heads give up the same key. In another layer more do."
    )  # fmt: skip


def test_keys_that_no_query_looks_at_are_counted() -> None:
    kept = np.zeros((2, 3, 4), dtype=bool)
    kept[0, 1, 2] = kept[1, 0, 3] = True
    assert unseen_text(kept) == "2 of 4 keys are looked at by no query"
    assert unseen_text(np.ones((1, 2, 2), dtype=bool)) == "some query looks at every key"


def test_a_curve_tells_how_many_go_before_it_gets_worse() -> None:
    points = [point(0.9, 0, False), point(0.9, 3, False), point(0.7, 6, True)]
    said = PruningCurve()._told({"first_worse": points[2], "points": points}, 12, "−1.0 pt", 2)
    assert said.replace("\N{NO-BREAK SPACE}", " ") == (
        "3 of 12 heads (25 %) go before a point of the curve is significantly worse. "
        "At your slider, 2 heads gone: −1.0 pt."
    )
    assert PruningCurve()._told({"first_worse": None, "points": points[:1]}, 12, "", 0).startswith("no point")


def test_chosen_subsets_are_drawn_from_few_heads_to_many() -> None:
    curves = {"training": {24: point(0.8, 0, False), 12: point(0.6, 0, False)}, "rank": {24: point(0.7, 0, False)}}
    first, second = kept_figure(curves, FULL, 24, "dark").data
    assert (list(first.x), list(first.y)) == ([12, 24], [60.0, 80.0])
    assert list(second.y) == [70.0]


def test_bars_of_parameters_stand_beside_the_share_of_heads() -> None:
    figure = parameter_bars({"all": 0.6, "some": 0.9}, 0.5, "light")
    assert list(figure.data[0].y) == [60.0, 90.0]
    assert figure.layout.shapes[0].y0 == 50.0
