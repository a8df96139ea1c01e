from __future__ import annotations

import pytest
import torch

from headscope.analysis.importance.method import score
from headscope.analysis.importance.methods.all_but_one import AllButOne, without_layers
from tests.analysis.hand_wired import hand_wired
from tests.analysis.subjects import KINDS, N, subject
from tests.reference.ablation import all_but_one, loss


@pytest.mark.parametrize("kind", KINDS)
def test_the_score_is_the_mean_loss_that_the_head_saves_alone(kind: str) -> None:
    head_model, task = subject(kind)
    examples = list(task.batches(head_model, "calibration", N, budget=1))
    expected = {head: sum(all_but_one(head_model, task, one, head) for one in examples) / N for head in head_model.grid}
    scores = score(AllButOne(), head_model, task, n=N)
    assert scores.values == pytest.approx(expected, rel=1e-8, abs=1e-11)


def test_heads_of_a_layer_are_in_the_order_that_a_comparison_with_the_whole_model_gives() -> None:
    head_model, task = subject("seq2seq")
    examples = list(task.batches(head_model, "calibration", N, budget=1))
    values = score(AllButOne(), head_model, task, n=N).values
    layer = head_model.grid.layer("cross", 1)
    risen = {
        head: sum(
            loss(head_model, task, one, {other: 0 for other in layer if other != head})
            - loss(head_model, task, one, {})
            for one in examples
        )
        for head in layer
    }
    assert sorted(layer, key=lambda head: values[head]) == sorted(layer, key=lambda head: -risen[head])


def test_the_important_head_alone_does_what_its_layer_does() -> None:
    head_model, task, important = hand_wired()
    values = score(AllButOne(), head_model, task, n=8).values
    examples = list(task.batches(head_model, "calibration", 8, budget=1))
    layer = dict.fromkeys(head_model.grid.layer(important.bank, important.layer), 0.0)
    lost = sum(loss(head_model, task, one, layer) - loss(head_model, task, one, {}) for one in examples) / 8
    assert values[important] == pytest.approx(lost, rel=0.01)
    assert sorted(values.values())[-2] < 0.01 * values[important]


def test_only_the_layer_of_the_head_is_shut() -> None:
    head_model, _ = subject("seq2seq")
    gates = without_layers(head_model)
    for place, head in enumerate(head_model.grid):
        shut = {other for other, gate in zip(head_model.grid, gates[place].tolist(), strict=True) if gate == 0}
        assert shut == set(head_model.grid.layer(head.bank, head.layer))
    assert torch.equal(gates.unique(), torch.tensor([0.0, 1.0], dtype=torch.float64))
