from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest
import torch

from headscope.analysis.importance.method import score
from headscope.analysis.importance.methods.gradient import Gradient
from headscope.models.gating import gated
from headscope.models.head_model import HeadModel
from headscope.pruning.evaluation.cost import Costs
from headscope.pruning.evaluation.evaluator import Evaluator
from headscope.pruning.evaluation.results import ORDER, Point, first_worse
from headscope.pruning.masks import HeadMask
from headscope.pruning.search.strategies.fisher import FisherSearch
from headscope.pruning.search.strategies.greedy import Greedy
from headscope.pruning.search.strategies.random_order import RandomOrder
from headscope.pruning.search.strategies.score import ByScore
from headscope.pruning.search.strategy import Strategy
from headscope.pruning.search.subject import Subject, heads_of
from headscope.pruning.search.sweep import Cache, Sweep, removal_order, sweep
from headscope.pruning.surgery import without_heads
from headscope.tasks.batches.batching import IGNORED
from headscope.tasks.task import Task
from tests.analysis.hand_wired import IMPORTANT, hand_wired
from tests.analysis.subjects import fresh, subject
from tests.pruning.operations import counted
from tests.pruning.search.strategies.made_up import MadeUp

N = 6


def subject_of(head_model: HeadModel, task: Task) -> Subject:
    scores = score(Gradient(), head_model, task, n=4).values
    evaluator = Evaluator.of(head_model, task, "calibration", 4)
    return Subject(
        head_model.grid,
        heads_of(head_model.grid, head_model.removed),
        gone=head_model.removed,
        scores=lambda _: scores,
        losses=evaluator.losses,
    )


def swept(
    head_model: HeadModel, task: Task, plan: Sweep, cache: Cache | None = None, have: Sequence[Point] = ()
) -> list[Point]:
    evaluator = Evaluator.of(head_model, task, "development", N)
    steps = sweep(evaluator, subject_of(head_model, task), plan, cache, have)
    return [progress.point for progress in steps if progress.point is not None]


def plain_loss(head_model: HeadModel, task: Task) -> float:
    """The mean over rows of the mean of -log p of their labels, written out."""
    found = []
    for batch in task.batches(head_model, "development", N):
        with torch.no_grad():
            logits = head_model.model(**batch.inputs).logits
        for scores, labels in zip(logits, batch.labels, strict=True):
            places = zip(scores.view(-1, scores.shape[-1]).tolist(), labels.view(-1).tolist(), strict=True)
            losses = [
                math.log(sum(math.exp(one) for one in row)) - row[label] for row, label in places if label != IGNORED
            ]
            found.append(sum(losses) / len(losses))
    return sum(found) / len(found)


@pytest.mark.parametrize("kind", ["encoder", "decoder", "seq2seq", "vision"])
def test_a_sweep_equals_one_that_loads_the_model_anew_for_every_point(kind: str) -> None:
    head_model, task = subject(kind)
    points = swept(head_model, task, Sweep(ByScore(), step=0.4))
    assert len(points) == 4 + 5 * 3
    whole, costs = task.outcomes(fresh(kind)[0], "development", N), Costs.of(fresh(kind)[0])
    for point in {point.mask: point for point in points}.values():
        again, task = fresh(kind)
        mask = HeadMask.of(again.grid, point.mask)
        smaller = without_heads(again, mask)
        with gated(again, mask.as_gates()):
            outcomes = task.outcomes(again, "development", N)
            loss = plain_loss(again, task)
        assert point.loss == pytest.approx(loss, rel=1e-12)
        estimate, comparison = task.metrics[0].estimate(outcomes), task.compare(whole, outcomes)
        fallen = (comparison.difference < 0) == task.higher_is_better and comparison.difference != 0
        assert point == Point(
            removed=len(mask),
            mask=point.mask,
            metric=estimate.metric,
            value=estimate.value,
            low=estimate.low,
            high=estimate.high,
            n=N,
            loss=point.loss,  # see above
            parameters=smaller.n_parameters,
            flops=counted(smaller, costs.length) if point.series == ORDER else costs.under(mask).flops,
            p=comparison.p_value if mask else None,
            worse=bool(mask) and fallen and comparison.p_value < 0.01,
            test=comparison.test if mask else "",
            series=point.series,
        )


def test_the_unpruned_model_comes_first_then_the_curve_then_the_random_orders_in_turn() -> None:
    head_model, task = subject("encoder")
    plan = Sweep(ByScore(), step=0.5)
    points = swept(head_model, task, plan)
    n = len(head_model.grid)
    in_turn = [(f"random {seed}", count) for count in (n // 2, n) for seed in range(5)]
    assert [(point.series, point.removed) for point in points] == [(ORDER, 0), (ORDER, n // 2), (ORDER, n), *in_turn]
    assert len({point.mask for point in points if point.removed == n // 2}) == 6
    for point in points[3:]:
        order = RandomOrder(seed=int(point.series[-1])).order(subject_of(head_model, task))
        assert head_model.grid.parse(point.mask) == frozenset(order[: point.removed])


def test_progress_counts_points_and_tells_where_a_search_can_be_left() -> None:
    head_model, task = subject("encoder")
    evaluator = Evaluator.of(head_model, task, "development", N)
    told = list(sweep(evaluator, subject_of(head_model, task), Sweep(Greedy(), step=0.5)))
    total = 3 + 5 * 2
    assert all(progress.total == total for progress in told)
    assert [progress.done for progress in told if progress.point is not None] == list(range(1, total + 1))
    assert sum(progress.point is None for progress in told) >= len(head_model.grid)


@pytest.mark.parametrize("strategy", [ByScore(), Greedy(), RandomOrder(seed=9)])
def test_stopped_after_any_point_and_taken_up_again_it_ends_the_same(strategy: Strategy) -> None:
    head_model, task = hand_wired()[:2]
    plan = Sweep(strategy, step=0.5)
    whole = swept(head_model, task, plan)
    for n in range(len(whole) + 1):
        assert [*whole[:n], *swept(head_model, task, plan, have=whole[:n])] == whole


def test_two_sweeps_that_meet_measure_no_mask_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    head_model, task = hand_wired()[:2]
    measured: list[str] = []
    steps_of = Evaluator.point_steps
    monkeypatch.setattr(Evaluator, "point_steps", lambda self, mask: measured.append(str(mask)) or steps_of(self, mask))
    cache: dict[str, dict[str, Any]] = {}
    first = swept(head_model, task, Sweep(ByScore(), step=0.25), cache)
    assert Counter(measured) == Counter({point.mask for point in first}), "the empty and the full mask are shared"
    assert set(cache) == set(measured)
    n = len(measured)
    assert swept(head_model, task, Sweep(ByScore(), step=0.25), cache) == first
    assert len(measured) == n
    finer = swept(head_model, task, Sweep(ByScore(), step=0.125), cache)
    assert set(measured[n:]) == {point.mask for point in finer} - set(measured[:n])
    assert len(measured) == len(set(measured))


@pytest.mark.parametrize(
    ("step", "at_least", "expected"),
    [
        (0.25, 0, (0, 4, 8, 12, 16)),
        (0.3, 0, (0, 5, 10, 14, 16)),
        (0.01, 0, tuple(range(17))),
        (0, 0, tuple(range(17))),
        (1, 0, (0, 16)),
        (0.25, 2, (0, 4, 6)),
        (0, 2, tuple(range(7))),
    ],
)
def test_counts_go_by_shares_of_all_heads_up_to_what_can_go(
    step: float, at_least: int, expected: tuple[int, ...]
) -> None:
    assert Sweep(ByScore(at_least=at_least), step=step).counts(MadeUp().subject()) == expected


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"step": 1.5}, "steps of 1.5 of all heads; 0, one head at a time, and 0.0001 to 1 are allowed"),
        ({"step": 1e-12}, "steps of 1e-12 of all heads"),
        ({"step": float("nan")}, "steps of nan of all heads"),
        ({"seeds": 2**32}, "4294967296 random orders; at most 1000 are allowed"),
        ({"seeds": 4}, "4 random orders; at least 5 are needed, or 0 beside a strategy that is random"),
        ({"seeds": 0}, "0 random orders; at least 5 are needed"),
        ({"seeds": 2, "strategy": RandomOrder()}, "2 random orders; at least 5 are needed"),
    ],
)
def test_a_sweep_that_makes_no_sense_is_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Sweep(**({"strategy": ByScore()} | settings))


def test_a_random_strategy_may_stand_alone_and_nothing_to_remove_is_said() -> None:
    assert Sweep(RandomOrder(), seeds=0).random_orders() == []
    with pytest.raises(ValueError, match="none of the 16 heads can go under these settings"):
        Sweep(ByScore(at_least=5)).counts(MadeUp().subject())


def test_the_first_point_that_is_worse_is_the_one_without_the_important_head() -> None:
    head_model, task, important = hand_wired()
    evaluator = Evaluator.of(head_model, task, "test")
    plan = Sweep(ByScore(), step=0)
    found = [one.point for one in sweep(evaluator, subject_of(head_model, task), plan) if one.point is not None]
    worse = first_worse(found)
    assert worse is not None
    assert IMPORTANT in head_model.grid.parse(worse.mask)
    before = [point for point in found if point.series == ORDER and point.removed < worse.removed]
    assert all(important not in head_model.grid.parse(point.mask) for point in before)
    assert any(point.worse and point.removed < worse.removed for point in found), "a random order fails earlier"
    assert first_worse(before) is None


def test_the_order_is_that_of_the_strategy_or_that_of_the_curve() -> None:
    made_up = MadeUp()
    subject = made_up.subject()
    grid = subject.grid
    assert removal_order(grid, ByScore(), subject, []) == ByScore().order(subject)
    curve = [mask.removed for mask in FisherSearch().masks(subject, [0, 5, 16])]
    blank = Point(
        removed=0, mask="", metric="m", value=0, low=0, high=0, n=1, loss=0, parameters=1, flops=1, p=None, worse=False
    ).to_json()
    points = [Point.from_json(blank | {"removed": len(one), "mask": grid.spell(one)}) for one in reversed(curve)]
    order = removal_order(grid, FisherSearch(), subject, points)
    assert order[:5] == [head for head in grid if head in curve[1]]
    assert set(order) == set(subject.heads)
    assert len(order) == 16
