from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest

from headscope.models.heads import HeadBank, HeadGrid, HeadId, LayerHeads
from headscope.pruning.masks import HeadMask
from headscope.pruning.search.strategies.fisher import FisherSearch, rearranged
from headscope.pruning.search.strategies.greedy import Greedy
from headscope.pruning.search.strategies.iterative import Iterative
from headscope.pruning.search.strategies.lazy_greedy import LazyGreedy
from headscope.pruning.search.strategies.random_order import RandomOrder
from headscope.pruning.search.strategies.reverse import Reverse
from headscope.pruning.search.strategies.role import ByRole
from headscope.pruning.search.strategies.score import ByScore
from headscope.pruning.search.strategy import GRADIENTS, LOSSES, ROLES, SCORES, Strategy, strategies, strategy_with
from headscope.pruning.search.subject import Subject, heads_of
from tests.pruning.search.strategies.made_up import GONE, GRID, HEADS, MadeUp
from tests.reference import strategies as reference

EVERY = [(key, at_least) for key in strategies() for at_least in (0, 1, 2)]
SCOPES = [(scope, at_least) for scope in ("global", "layer", "bank") for at_least in (0, 2)]
SEEDS = range(3)


def made(key: str, **settings: Any) -> Strategy:
    return strategy_with(key, settings)


def masks(strategy: Strategy, subject: Subject, counts: list[int]) -> list[frozenset[HeadId]]:
    return [mask.removed for mask in strategy.masks(subject, counts)]


def prefixes(order: list[HeadId]) -> list[frozenset[HeadId]]:
    return [frozenset(order[:count]) for count in range(len(order) + 1)]


# the contract


@pytest.mark.parametrize(("key", "at_least"), EVERY)
def test_every_strategy_removes_exactly_as_many_heads_as_are_asked_for(key: str, at_least: int) -> None:
    strategy, subject = made(key, at_least=at_least), MadeUp().subject()
    left = Counter((head.bank, head.layer) for head in HEADS)
    most = sum(max(0, n - at_least) for n in left.values())
    assert strategy.most(subject) == most
    counts = [0, 1, 2, 5, most - 1, most]
    for count, removed in zip(counts, masks(strategy, subject, counts), strict=True):
        assert len(removed) == count
        assert not removed & GONE
        lost = Counter((head.bank, head.layer) for head in removed)
        assert all(left[layer] - lost[layer] >= min(at_least, left[layer]) for layer in left)


@pytest.mark.parametrize("key", strategies())
def test_only_heads_that_may_go_go(key: str) -> None:
    offered = heads_of(GRID, GONE, "cross")
    removed = masks(made(key), MadeUp().subject(offered), [3, len(offered)])
    assert removed[0] < removed[1] == frozenset(offered)
    assert {head.bank for head in removed[1]} == {"cross"}


@pytest.mark.parametrize("key", [key for key in strategies() if key != "random"])  # that knows no equals
def test_equal_heads_go_in_the_order_of_the_grid_every_time(key: str) -> None:
    alike = replace(
        MadeUp().subject(),
        scores=lambda _: dict.fromkeys(GRID, 0.5),
        losses=lambda tried: [float(len(mask)) for mask in tried],
        gradients=lambda: np.ones((4, len(GRID))),
        roles=dict.fromkeys(HEADS, ("positional",)),
    )
    assert masks(made(key), alike, list(range(len(HEADS)))) == prefixes(list(HEADS))[:-1]


@pytest.mark.parametrize("key", strategies())
def test_impossible_counts_are_refused_in_one_sentence_before_any_work(key: str) -> None:
    subject = Subject(GRID, HEADS, gone=GONE)
    refused = "heads to remove; from 0 to {} of this model can go under these settings"
    with pytest.raises(ValueError, match=f"17 {refused.format(16)}"):
        made(key).masks(subject, [1, 17])
    with pytest.raises(ValueError, match=f"12 {refused.format(11)}"):
        made(key, at_least=1).masks(subject, [12])
    with pytest.raises(ValueError, match=f"-1 {refused.format(16)}"):
        made(key).masks(subject, [-1, 3])
    with pytest.raises(ValueError, match="3 2 heads to remove; the counts must ascend"):
        made(key).masks(subject, [3, 2])


@pytest.mark.parametrize("strategy", strategies().values())
def test_every_strategy_says_what_it_does_and_needs(strategy: type[Strategy]) -> None:
    assert strategy.title
    assert strategy.about.endswith(".")
    assert set(strategy.needs) <= {SCORES, LOSSES, GRADIENTS, ROLES}
    assert all(field.metadata["about"] for field in fields(strategy))
    complete = MadeUp().subject()
    needed = {name: getattr(complete, name) for name in strategy.needs}
    assert len(masks(strategy(), Subject(GRID, HEADS, gone=GONE, **needed), [3])[0]) == 3, "it needs nothing else"
    for missing in set(strategy.needs) - {ROLES}:
        rest = {name: value for name, value in needed.items() if name != missing}
        with pytest.raises(ValueError, match=rf"no {missing} were given.*; this strategy needs"):
            masks(strategy(), Subject(GRID, HEADS, gone=GONE, **rest), [3])


@pytest.mark.parametrize(
    ("key", "settings", "message"),
    [
        ("score", {"scope": "row"}, "the scope 'row'; allowed: global, layer, bank"),
        ("score", {"at_least": -1}, "at least -1 heads in every layer; 0 or more are allowed"),
        ("random", {"seed": -3}, "the seed -3; 0 or more are allowed"),
        ("random", {"scope": "layer"}, "no setting 'scope' of the strategy random; it has: at_least, seed"),
        ("greedy", {"at_least": "2"}, "at_least='2'; a value such as 0 is needed"),
    ],
)
def test_settings_that_make_no_sense_are_refused(key: str, settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        strategy_with(key, settings)


def test_an_unknown_strategy_is_named_with_those_that_are_known() -> None:
    with pytest.raises(KeyError, match="no strategy 'best'; known: fisher, greedy, iterative, "):
        strategy_with("best", {})


# each against its own telling


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("scope", "at_least"), SCOPES)
def test_by_score_the_lowest_go_first_and_groups_lose_the_same_share(scope: str, at_least: int, seed: int) -> None:
    made_up = MadeUp(seed)
    scores = made_up.scores(frozenset())
    strategy = ByScore(at_least=at_least, scope=scope)  # type: ignore[arg-type]
    expected = reference.score_order(GRID, HEADS, set(GONE), scores, scope, at_least)
    assert strategy.order(made_up.subject()) == expected
    assert masks(strategy, made_up.subject(), [0, 4, 6]) == [prefixes(expected)[count] for count in (0, 4, 6)]
    turned = {head: -score for head, score in scores.items()}
    upside_down = reference.score_order(GRID, HEADS, set(GONE), turned, scope, at_least)
    assert Reverse(at_least=at_least, scope=scope).order(made_up.subject()) == upside_down  # type: ignore[arg-type]


def test_by_layer_every_layer_loses_a_head_before_any_loses_two() -> None:
    order = ByScore(scope="layer").order(MadeUp().subject(heads_of(GRID, GONE, "encoder")))
    assert {head.layer for head in order[:3]} == {0, 1, 2}


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("scope", "at_least"), SCOPES)
def test_iterative_scores_what_is_left_before_every_step(scope: str, at_least: int, seed: int) -> None:
    made_up, counts = MadeUp(seed, depend=8.0), [0, 2, 3, 6, 6]
    found = masks(Iterative(at_least=at_least, scope=scope), made_up.subject(), counts)  # type: ignore[arg-type]
    assert found == reference.iterative_masks(GRID, HEADS, set(GONE), made_up.scores, counts, scope, at_least)
    if (scope, at_least) == ("global", 0):
        assert found != masks(ByScore(), made_up.subject(), counts), "the scores change with what is left"


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("at_least", [0, 2])
def test_greedy_is_greedy_and_lazy_greedy_is_lazy(seed: int, at_least: int) -> None:
    made_up = MadeUp(seed, depend=4.0)
    for strategy, literal in ((Greedy, reference.greedy_order), (LazyGreedy, reference.lazy_greedy_order)):
        expected = literal(GRID, HEADS, set(GONE), made_up.loss, at_least)
        counts = list(range(len(expected) + 1))
        assert masks(strategy(at_least=at_least), made_up.subject(), counts) == prefixes(expected)


def test_where_prices_only_rise_lazy_greedy_finds_what_greedy_finds_with_far_fewer_trials() -> None:
    rising = MadeUp()
    rising.pairs = np.abs(rising.pairs) / 10
    counts = [8, 16]
    expected = masks(Greedy(), rising.subject(), counts)
    n_greedy = len(rising.asked)
    assert masks(LazyGreedy(), rising.subject(), counts) == expected
    assert n_greedy == 16 * 17 // 2
    assert len(rising.asked) - n_greedy == (1 + 16) + 2 * 14 + 1  # all at first, then two, in the end the last one


@pytest.mark.parametrize(("layers", "first", "last"), [(4, 1, 2), (6, 2, 3), (10, 4, 5), (18, 8, 9)])
def test_lazy_greedy_takes_an_eighth_of_the_trials_of_greedy(layers: int, first: int, last: int) -> None:
    grid = HeadGrid((HeadBank("encoder", (LayerHeads(tuple(range(8))),) * layers),))
    worth = dict(zip(grid.heads, np.random.default_rng(0).permutation(len(grid.heads)), strict=True))
    asked: list[int] = []

    def losses(tried_now: Sequence[HeadMask]) -> list[float]:
        asked.append(len(tried_now))
        return [float(sum(worth[head] for head in mask.removed)) for mask in tried_now]

    n = len(grid.heads)
    *_, nearly_all, _ = masks(LazyGreedy(), Subject(grid, grid.heads, losses=losses), list(range(n + 1)))
    assert nearly_all == frozenset(grid.heads) - {max(worth, key=worth.__getitem__)}
    n_greedy = n * (n + 1) / 2
    before = next(place for place in range(len(asked)) if sum(asked[:place]) == n + 1)
    assert asked[before] == first
    assert max(asked[before:]) == last
    assert 8 <= n_greedy / sum(asked) < 9.5


@pytest.mark.parametrize("key", ["greedy", "lazy-greedy"])
def test_rounding_does_not_decide_which_of_equal_heads_goes(key: str) -> None:
    for seed in SEEDS:
        noise = np.random.default_rng(seed)
        rounded = Subject(
            GRID, HEADS, gone=GONE, losses=lambda asked, noise=noise: [3 + noise.uniform(-1e-6, 1e-6) for _ in asked]
        )
        assert masks(made(key), rounded, list(range(len(HEADS) + 1))) == prefixes(list(HEADS))


def test_a_search_can_be_left_again_and_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headscope.pruning.search.strategy.TRIED_AT_ONCE", 4)
    for strategy in (Greedy(), LazyGreedy()):
        made_up = MadeUp()
        search = strategy.search(made_up.subject(), [2])
        assert next(search) is None
        assert len(made_up.asked) == 4


def test_a_random_order_is_drawn_by_its_seed_and_all_orders_are_likely() -> None:
    subject = MadeUp().subject()
    orders = [RandomOrder(seed=seed).order(subject) for seed in range(200)]
    assert all(sorted(order) == sorted(HEADS) for order in orders)
    assert orders[3] == [HEADS[place] for place in np.random.default_rng(3).permutation(len(HEADS))]
    assert len({tuple(order) for order in orders}) == 200
    first = Counter(order[0] for order in orders)
    assert set(first) == set(HEADS)
    assert max(first.values()) < 200 / 16 * 2.5


@pytest.mark.parametrize("seed", SEEDS)
def test_fisher_chooses_within_each_layer_by_how_heads_interact(seed: int) -> None:
    made_up = MadeUp(seed)
    for count in range(17):
        (found,) = masks(FisherSearch(), made_up.subject(), [count])
        squares = {head: float(np.mean(made_up.gradients[:, GRID.positions[head]] ** 2)) for head in GRID}
        lowest = reference.score_order(GRID, HEADS, set(GONE), squares, "global", 0)[:count]
        for layer in {(head.bank, head.layer) for head in HEADS}:
            own = [head for head in HEADS if (head.bank, head.layer) == layer]
            gradients = made_up.gradients[:, [GRID.positions[head] for head in own]]
            chosen = reference.rearranged(gradients, sum(head in own for head in lowest))
            assert {own.index(head) for head in found if head in own} == chosen


def test_two_heads_that_cancel_go_together() -> None:
    gradients = np.array([[1.0, 2.0, -2.0], [0.9, -2.0, 2.0], [1.1, 2.0, -2.0]])
    block = gradients.T @ gradients / 3
    assert sorted(rearranged(block, 1)) == [0]
    assert sorted(rearranged(block, 2)) == [1, 2]
    assert reference.second_order_rise(gradients, [1, 2]) == reference.best_of_all(gradients, 2) == 0


def test_the_exchange_never_raises_the_second_order_loss() -> None:
    for seed in range(20):
        gradients = np.random.default_rng(seed).normal(size=(12, 6)) + 0.5
        block = gradients.T @ gradients / 12
        order = np.argsort(np.diag(block)).tolist()
        for n in range(1, 6):
            rise = reference.second_order_rise(gradients, rearranged(block, n))
            assert reference.best_of_all(gradients, n) <= rise + 1e-12
            assert rise <= reference.second_order_rise(gradients, order[:n]) + 1e-12


def test_the_heads_of_a_role_go_first_and_each_group_by_score() -> None:
    made_up = MadeUp()
    scores = made_up.scores(frozenset())
    subject = made_up.subject()
    positional = {HeadId("encoder", 0, 0), HeadId("encoder", 2, 3)}
    order = ByRole(first="positional").order(subject)
    assert set(order[:2]) == positional
    assert order == sorted(positional, key=scores.__getitem__) + sorted(set(HEADS) - positional, key=scores.__getitem__)
    order = ByRole(first="syntactic positional").order(subject)
    assert set(order[:2]) == {HeadId("encoder", 2, 3), HeadId("cross", 0, 1)}
    assert order[2] == HeadId("encoder", 0, 0)
    order = ByRole(first="none").order(subject)
    assert set(order[-3:]) == set(subject.roles)


def test_a_role_that_no_head_has_is_refused() -> None:
    with pytest.raises(ValueError, match="no head has the role 'induction'; heads have: none, positional, syntactic"):
        ByRole(first="induction").order(MadeUp().subject())


def test_scores_that_are_no_numbers_are_refused() -> None:
    broken = dict.fromkeys(GRID, 1.0) | {HeadId("cross", 0, 1): float("nan")}
    subject = replace(MadeUp().subject(), scores=lambda _: broken)
    for strategy in (ByScore(), Reverse(), Iterative(), ByRole()):
        with pytest.raises(ValueError, match=r"the score of cross\.0\.1 is not a number"):
            masks(strategy, subject, [1])


def test_banks_are_named_or_all() -> None:
    assert heads_of(GRID, GONE) == HEADS
    assert heads_of(GRID, GONE, "cross, encoder") == HEADS
    with pytest.raises(KeyError, match="no bank 'decoder'; this model has: encoder, cross"):
        heads_of(GRID, GONE, "decoder")
