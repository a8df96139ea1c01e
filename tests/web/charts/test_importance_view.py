from __future__ import annotations

import pytest

from headscope.analysis.importance.scores import Scores
from headscope.models.heads import HeadBank, HeadGrid, HeadId, LayerHeads
from headscope.web.charts.importance_view import (
    agreement_html,
    bank_captions,
    bank_shares,
    finding,
    layer_shares,
    ordinal,
    ranked_by_all,
    ranks_html,
    score_style,
)

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
    told = finding(SCORES, GRID, "gradient", "Gradient")
    assert told == "A third of the heads carry 70 % of the gradient score, and 60 % lie in the cross bank"


@pytest.mark.parametrize(
    ("below", "method", "told"),
    [
        (1, "ablation", "1 head scores below 0 under Title: without it alone the loss would fall"),
        (2, "ablation", "2 heads score below 0 under Title: without one of them alone the loss would fall"),
        (1, "lrp", "1 head scores below 0 under Title"),
        (2, "taylor", "2 heads score below 0 under Title"),
    ],
)
def test_negative_scores_are_the_finding_and_harm_only_where_the_loss_was_measured(
    below: int, method: str, told: str
) -> None:
    scores = SCORES | dict.fromkeys(list(GRID)[:below], -0.1)
    assert finding(scores, GRID, method, "Title") == told


def test_a_cell_keeps_the_sign_of_its_score_and_a_head_without_one_is_hatched() -> None:
    first, second, *rest = GRID
    scores = Scores(dict(zip(rest, (-0.25, 1.0, 2.0, 3.0), strict=True)), {rest[0]: 0.01}, 4)
    look = score_style(scores, GRID, frozenset({second}))
    assert (look.negative, look.hatched, look.removed) == ({rest[0]}, {first}, {second})
    assert look.notes[rest[0]] == "\N{MINUS SIGN}0.25 ± 0.01"
    assert (look.notes[rest[1]], look.notes[first]) == ("1", "not scored")


def test_a_bank_without_scores_says_so() -> None:
    assert bank_captions(SCORES, GRID) == {"encoder": "40 % of all", "cross": "60 % of all"}
    encoder = {head: score for head, score in SCORES.items() if head.bank == "encoder"}
    assert bank_captions(encoder, GRID) == {"encoder": "100 % of all", "cross": "not scored"}


def test_rankings_are_compared_over_the_heads_that_all_score() -> None:
    few = dict(list(SCORES.items())[2:])
    assert ranked_by_all({"A": SCORES, "B": few}) == {"A": few, "B": few}
    assert ranked_by_all({}) == {}


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
