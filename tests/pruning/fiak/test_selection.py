from __future__ import annotations

from fractions import Fraction

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from headscope.pruning.fiak.layers import PriorLayer
from headscope.pruning.fiak.pruning_choice import Choice, chosen
from headscope.pruning.fiak.selection import (
    corrected_fraction,
    count_of,
    key_pruning,
    key_sums,
    mixed_pruning,
    score_pruning,
)
from tests.reference import fiak as reference

FRACTIONS = st.integers(0, 99).map(lambda percent: percent / 100)
SIZES = st.tuples(st.integers(1, 4), st.integers(1, 9), st.booleans(), st.integers(0, 5))


def priors(n_heads: int, n: int, seed: int) -> torch.Tensor:
    """Coarse numbers of both signs, so that many are equal."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(-4, 5, (n_heads, n, n), generator=generator) / 4.0


def visible(n: int, causal: bool) -> torch.Tensor:
    every = torch.ones(n, n, dtype=torch.bool)
    return every.tril() if causal else every


def layer(n_heads: int, n: int, causal: bool, number: int = 0) -> PriorLayer:
    heads = tuple(range(n_heads))
    return PriorLayer("decoder" if causal else "encoder", number, "core", heads, heads, 8, n, 0)


def test_the_fraction_after_mixed_pruning_is_that_of_the_paper() -> None:
    assert corrected_fraction(0.7, 0.2) == Fraction(625, 1000)
    assert corrected_fraction(0.3, 0.3) == 0
    with pytest.raises(ValueError, match="scores at least as much as keys"):
        corrected_fraction(0.1, 0.2)


@given(st.integers(0, 99), st.integers(0, 10**6))
def test_counts_are_the_nearest_whole_number(percent: int, n: int) -> None:
    assert abs(Fraction(percent, 100) * n - count_of(percent / 100, n)) <= Fraction(1, 2)


@given(SIZES, FRACTIONS)
def test_score_pruning_removes_exactly_the_smallest_of_the_layer(size: tuple[int, int, bool, int], k: float) -> None:
    n_heads, n, causal, seed = size
    given_, seen = priors(n_heads, n, seed), visible(n, causal)
    kept = score_pruning(given_, seen, k)
    places = [(h, i, j) for h in range(n_heads) for i in range(n) for j in range(n) if not causal or j <= i]
    gone = reference.smallest([(p, abs(float(given_[p]))) for p in places], count_of(k, len(places)))
    assert {p for p in places if not kept.scores[p]} == gone
    assert kept.n_scores == len(places) - count_of(k, len(places))
    assert not kept.scores[:, ~seen].any()
    assert kept.keys.all()


@given(SIZES, FRACTIONS, FRACTIONS)
def test_mixed_pruning_removes_keys_first_and_then_the_rest_of_the_scores(
    size: tuple[int, int, bool, int], first: float, second: float
) -> None:
    n_heads, n, causal, seed = size
    k1, k2 = max(first, second), min(first, second)
    given_, seen = priors(n_heads, n, seed), visible(n, causal)
    kept = mixed_pruning(given_, seen, (k1, k2), range(n_heads))
    left = []
    for h in range(n_heads):
        sums = [((j,), reference.key_score(given_[h], j, causal)) for j in range(n)]
        gone = {place[0] for place in reference.smallest(sums, count_of(k2, n))}
        assert {j for j in range(n) if not kept.keys[h, j]} == gone
        left += [(h, i, j) for i in range(n) for j in range(n) if j not in gone and seen[i, j]]
    share = 1 - (1 - Fraction(str(k1))) / (1 - Fraction(str(k2)))
    also = reference.smallest([(p, abs(float(given_[p]))) for p in left], int(share * len(left) + Fraction(1, 2)))
    assert {p for p in left if not kept.scores[p]} == also
    assert kept.n_scores == len(left) - len(also)


def test_mixed_pruning_of_all_pairs_prunes_the_fraction_asked_for() -> None:
    kept = mixed_pruning(torch.rand(3, 40, 40), visible(40, causal=False), (0.7, 0.2), range(3))
    assert (kept.n_keys, kept.n_scores) == (3 * 32, 3 * 40 * 40 * 3 // 10)


@given(SIZES, FRACTIONS)
def test_key_pruning_removes_exactly_the_smallest_of_each_head(size: tuple[int, int, bool, int], k: float) -> None:
    n_heads, n, causal, seed = size
    given_, seen = priors(n_heads, n, seed)[:, :1], visible(n, causal)
    kept = key_pruning(given_, seen, k, range(n_heads))
    for h in range(n_heads):
        items = [((j,), abs(float(given_[h, 0, j]))) for j in range(n)]
        gone = {place[0] for place in reference.smallest(items, count_of(k, n))}
        assert {j for j in range(n) if not kept.keys[h, j]} == gone
    assert torch.equal(kept.scores, seen & kept.keys[:, None])


@given(SIZES, FRACTIONS)
def test_among_a_query_every_query_loses_its_smallest(size: tuple[int, int, bool, int], k: float) -> None:
    n_heads, n, causal, seed = size
    given_, seen = priors(n_heads, n, seed), visible(n, causal)
    kept = score_pruning(given_, seen, k, "query")
    for h in range(n_heads):
        for i in range(n):
            places = [j for j in range(n) if seen[i, j]]
            gone = reference.smallest([((j,), abs(float(given_[h, i, j]))) for j in places], count_of(k, len(places)))
            assert {(j,) for j in places if not kept.scores[h, i, j]} == gone


def test_the_sum_of_a_causal_key_is_divided_by_the_queries_that_see_it() -> None:
    even = torch.full((1, 5, 5), -0.5)
    assert key_sums(even, visible(5, causal=True)).tolist() == [[0.5] * 5]
    assert key_sums(even, visible(5, causal=False)).tolist() == [[2.5] * 5]


def test_heads_that_share_keys_lose_the_same_ones() -> None:
    given_ = torch.rand(4, 1, 10)
    kept = key_pruning(given_, visible(10, causal=False), 0.5, [0, 0, 1, 1])
    assert torch.equal(kept.keys[0], kept.keys[1])
    assert torch.equal(kept.keys[2], kept.keys[3])
    expected = torch.argsort(given_[0, 0] + given_[1, 0])[:5]
    assert set((~kept.keys[0]).nonzero().flatten().tolist()) == set(expected.tolist())


def test_the_random_control_prunes_as_much_and_something_else() -> None:
    layers = [layer(2, 12, causal=True, number=number) for number in (0, 1)]
    learned = {one.name: torch.rand(2, 12, 12) for one in layers}
    kept, control, again = (
        chosen(Choice(0.6, 0.25, by=by), layers, learned, seed=3) for by in ("prior", "random", "random")
    )
    for one in layers:
        assert kept[one.name].n_keys == control[one.name].n_keys
        assert not torch.equal(kept[one.name].scores, control[one.name].scores)
        assert torch.equal(again[one.name].scores, control[one.name].scores)
    assert not torch.equal(control["decoder.0"].scores, control["decoder.1"].scores)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"scores": 1.0}, "scores 1.0 and keys 0.0; allowed are numbers from 0 to below 1"),
        ({"scores": 0.1, "keys": 0.2}, "at least as much as goes with the keys"),
        ({"scores": 0.0}, "scores are pruned"),
        ({"prior": "key"}, "only keys can be pruned"),
        ({"prior": "key", "scores": 0.0}, "only keys can be pruned"),
        ({"prior": "head"}, "prior 'head'; allowed: pair, key"),
        ({"shared": "model"}, "shared 'model'; allowed: head, layer"),
        ({"among": "head"}, "among 'head'; allowed: layer, query"),
        ({"by": "luck"}, "by 'luck'; allowed: prior, random"),
    ],
)
def test_what_cannot_be_pruned_is_refused_in_one_sentence(options: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Choice(**options)  # type: ignore[arg-type]
