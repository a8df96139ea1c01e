from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from headscope.analysis import agreement as ours
from headscope.analysis.agreement import Agreement, agreement, agreements, best, kendall, overlap, spearman
from headscope.models.heads import HeadId
from tests.reference import ranks as literal

HEADS = [HeadId("encoder", layer, head) for layer in range(3) for head in range(4)]
PAIRS = st.lists(st.tuples(st.integers(-3, 3), st.integers(-3, 3)), min_size=2, max_size=len(HEADS)).filter(
    lambda pairs: all(len(set(scores)) > 1 for scores in zip(*pairs, strict=True))
)


def ranked(scores: object) -> dict[HeadId, float]:
    return dict(zip(HEADS, map(float, scores), strict=False))  # type: ignore[call-overload]


@given(PAIRS)
def test_both_correlations_are_their_definitions_and_scipys_ties_and_all(pairs: list[tuple[int, int]]) -> None:
    first, second = zip(*pairs, strict=True)
    found = spearman(ranked(first), ranked(second)), kendall(ranked(first), ranked(second))
    assert found == pytest.approx((literal.spearman(first, second), literal.kendall(first, second)))
    assert found == pytest.approx((stats.spearmanr(first, second).statistic, stats.kendalltau(first, second).statistic))


@given(PAIRS)
def test_agreement_is_mutual_and_bounded_and_does_not_depend_on_the_order_of_heads(
    pairs: list[tuple[int, int]],
) -> None:
    first, second = (ranked(scores) for scores in zip(*pairs, strict=True))
    turned = dict(reversed(first.items()))
    for measure in (spearman, kendall, lambda a, b: overlap(a, b, 2)):
        value = measure(first, second)
        assert measure(second, first) == pytest.approx(value)
        assert measure(turned, second) == pytest.approx(value)
        assert -1 - 1e-12 <= value <= 1 + 1e-12


def test_known_rankings() -> None:
    up, down = ranked(range(12)), ranked(range(12, 0, -1))
    assert agreement(up, up, 3) == Agreement(1.0, 1.0, 1.0, 3, 12)
    assert agreement(up, down, 6) == Agreement(-1.0, -1.0, 0.0, 6, 12)
    swapped = ranked([1, 0, *range(2, 12)])
    assert spearman(up, swapped) == pytest.approx(1 - 6 * 2 / (12 * (144 - 1)))
    assert kendall(up, swapped) == pytest.approx(1 - 2 / 66)


def test_many_heads_are_compared_block_by_block(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = ranked([5, 3, 8, 1, 9, 2, 2, 7]), ranked([1, 4, 4, 0, 8, 3, 5, 6])
    whole = kendall(first, second)
    monkeypatch.setattr(ours, "BLOCK", 3)
    assert kendall(first, second) == pytest.approx(whole)


def test_a_ranking_without_order_agrees_with_none() -> None:
    flat = ranked([2.0] * 12)
    assert spearman(flat, ranked(range(12))) == kendall(ranked(range(12)), flat) == 0


def test_overlap_counts_heads_that_are_among_the_best_of_both() -> None:
    first, second = ranked([9, 8, 7, 1, 0]), ranked([9, 0, 8, 7, 1])
    assert overlap(first, second, 3) == pytest.approx(2 / 3)
    assert best(first, 2) == frozenset(HEADS[:2])
    assert best(ranked([1, 1, 1]), 2) == frozenset(HEADS[:2])
    assert agreement(first, second, 2).overlap_by_chance == pytest.approx(2 / 5)


def test_every_two_of_many_are_compared_once() -> None:
    found = agreements({"a": ranked(range(5)), "b": ranked(range(5, 0, -1)), "c": ranked([0, 1, 2, 4, 3])}, k=2)
    assert {pair: round(value.kendall, 2) for pair, value in found.items()} == {
        ("a", "b"): -1.0,
        ("a", "c"): 0.8,
        ("b", "c"): -0.8,
    }


@pytest.mark.parametrize("k", [0, 4])
def test_a_number_of_best_heads_that_is_not_there_is_refused(k: int) -> None:
    with pytest.raises(ValueError, match=f"the {k} best of 3 heads; allowed are 1 to 3"):
        overlap(ranked([1, 2, 3]), ranked([1, 2, 3]), k)


def test_rankings_of_other_heads_are_refused() -> None:
    with pytest.raises(ValueError, match="rankings of 3 and 2 heads, 2 of them the same"):
        spearman(ranked([1, 2, 3]), ranked([1, 2]))
