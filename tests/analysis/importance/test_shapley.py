from __future__ import annotations

from functools import cache

import numpy as np
import pytest
import torch

from headscope.analysis.importance.methods.integrated_gradients import savings
from headscope.analysis.importance.methods.shapley import Shapley
from headscope.models.head_model import HeadModel
from headscope.models.heads import HeadId
from headscope.tasks.batches.batching import Batch
from headscope.tasks.batches.masked_losses import open_gates
from headscope.tasks.task import Task
from tests.analysis.hand_wired import hand_wired
from tests.analysis.subjects import KINDS, N, subject
from tests.reference.ablation import loss
from tests.reference.shapley import Worth, mean_contribution, shapley_value


def worth_of(head_model: HeadModel, task: Task, example: Batch) -> Worth:
    """What a model with no heads but these saves, up to a constant."""

    @cache
    def worth(heads: frozenset[HeadId]) -> float:
        return -loss(head_model, task, example, {head: 0.0 for head in head_model.grid if head not in heads})

    return worth


def orders_of(method: Shapley, head_model: HeadModel, example: Batch) -> list[list[HeadId]]:
    """The orders in which heads are added for an example, read off the numbers that stand for them."""
    numbers = method._numbers(example, len(head_model.grid))[0].tolist()
    heads = {number: head_model.grid.heads[place] for place, number in enumerate(numbers)}
    drawn = method._orders(len(head_model.grid), method.samples)
    return [[heads[number] for number in order] for order in drawn]


def test_values_are_the_mean_contributions_over_the_drawn_orders() -> None:
    method = Shapley(samples=3, seed=5)
    head_model, task = subject("encoder")
    (batch,) = task.batches(head_model, "calibration", 2)
    values, _ = method.of_batch(head_model, task, batch)
    by_index = dict(zip(batch.indices, values.tolist(), strict=True))
    for example in task.batches(head_model, "calibration", 2, budget=1):
        worth, orders = worth_of(head_model, task, example), orders_of(method, head_model, example)
        expected = [mean_contribution(worth, orders, head) for head in head_model.grid]
        assert by_index[example.indices[0]] == pytest.approx(expected, rel=1e-5, abs=1e-6)


def test_many_orders_come_near_the_value_over_all_sets_of_heads() -> None:
    head_model, task, _ = hand_wired()
    example = next(iter(task.batches(head_model, "calibration", 1)))
    worth = worth_of(head_model, task, example)
    expected = torch.tensor([shapley_value(worth, head_model.grid.heads, head) for head in head_model.grid])
    values = [Shapley(samples, seed=1).of_batch(head_model, task, example)[0][0] for samples in (4, 400)]
    few, many = ((found - expected).abs().max() for found in values)
    assert many < 0.02 * expected.max()
    assert many < few / 3


@pytest.mark.parametrize("kind", KINDS)
def test_heads_of_an_example_add_up_to_what_they_save_together(kind: str) -> None:
    head_model, task = subject(kind)
    for batch in task.batches(head_model, "calibration", N):
        values, _ = Shapley(samples=2).of_batch(head_model, task, batch)
        gates = open_gates(head_model, len(batch))
        with torch.no_grad():
            saved = savings(head_model, task, batch, gates) - savings(head_model, task, batch, 0 * gates)
        torch.testing.assert_close(values.sum(dim=1), saved, rtol=1e-3, atol=1e-5)


def test_examples_have_orders_of_their_own_that_the_seed_decides() -> None:
    head_model, task = subject("encoder")
    examples = list(task.batches(head_model, "calibration", N, budget=1))
    of_each = [orders_of(Shapley(), head_model, example) for example in examples]
    assert all(sorted(order) == sorted(head_model.grid) for orders in of_each for order in orders)
    assert len({tuple(order) for orders in of_each for order in orders}) == N * Shapley().samples
    assert of_each == [orders_of(Shapley(), head_model, example) for example in examples]
    assert of_each != [orders_of(Shapley(seed=1), head_model, example) for example in examples]


def test_first_places_are_shared_out_evenly() -> None:
    method = Shapley(samples=4)
    head_model, task, _ = hand_wired()
    examples = list(task.batches(head_model, "calibration", 24, budget=1)) * 1
    firsts = [order[0] for example in examples for order in orders_of(method, head_model, example)]
    counts = np.array([firsts.count(head) for head in head_model.grid])
    assert counts.sum() == 96 and counts.min() >= 4 and counts.max() <= 24  # 12 of 96 each, within four deviations


def test_the_generators_of_others_are_left_alone() -> None:
    head_model, task = subject("encoder")
    (batch,) = task.batches(head_model, "calibration", 2)
    before = torch.random.get_rng_state(), np.random.get_state()[1].tolist()
    Shapley(samples=1).of_batch(head_model, task, batch)
    assert torch.equal(torch.random.get_rng_state(), before[0])
    assert np.random.get_state()[1].tolist() == before[1]


def test_a_mean_needs_samples() -> None:
    with pytest.raises(ValueError, match="0 samples; at least 1 is needed"):
        Shapley(samples=0)
