from __future__ import annotations

import pytest

from models.heads import HeadBank, HeadGrid, HeadId, LayerHeads
from ui.importance_view import agreement_html, bank_shares, finding, layer_shares, ordinal, ranks_html

GRID = HeadGrid(
    (
        HeadBank("encoder", (LayerHeads((0, 1)), LayerHeads((0, 1)))),
        HeadBank("cross", (LayerHeads((0, 1)),)),
    )
)
SCORES = dict(zip(GRID, (1.0, 1.0, 2.0, 0.0, 5.0, 1.0), strict=True))


def test_shares_of_banks_and_layers_add_up_to_one() -> None:
    assert bank_shares(SCORES, GRID) == {"encoder": 0.4, "cross": 0.6}
    assert layer_shares(SCORES, GRID) == {"encoder": [0.2, 0.2], "cross": [0.6]}


def test_the_finding_names_the_bank_with_most_and_the_share_of_a_third() -> None:
    told = finding(SCORES, GRID, "Gradient")
    assert told == "A third of the heads carry 70 % of the gradient score, and 60 % lie in the cross bank"


def test_negative_scores_are_the_finding_where_there_are_any() -> None:
    told = finding(SCORES | {HeadId("cross", 0, 1): -0.1}, GRID, "Ablation")
    assert told == "1 head has a negative score under Ablation: without them the loss would fall"


def test_a_head_with_the_highest_score_is_first_and_heads_with_equal_scores_share_a_place() -> None:
    assert ">1st<" in ranks_html(HeadId("cross", 0, 0), {"Gradient": SCORES})
    assert ">3rd<" in ranks_html(HeadId("encoder", 0, 1), {"Gradient": SCORES})
    assert ">6th<" in ranks_html(HeadId("encoder", 1, 1), {"Gradient": SCORES})


def test_titles_are_escaped() -> None:
    assert "<script>" not in ranks_html(HeadId("cross", 0, 0), {"<script>": SCORES})


@pytest.mark.parametrize(
    ("number", "spelt"), [(1, "1st"), (2, "2nd"), (3, "3rd"), (4, "4th"), (11, "11th"), (21, "21st"), (112, "112th")]
)
def test_places_are_spelt(number: int, spelt: str) -> None:
    assert ordinal(number) == spelt


def test_the_agreement_is_the_same_read_by_rows_and_by_columns_and_is_spoken() -> None:
    drawn = agreement_html(["A", "B"], {("A", "B"): -0.25}, "light")
    assert drawn.count("\N{MINUS SIGN}.25") == 2
    assert 'aria-label="A and B: -0.25"' in drawn
