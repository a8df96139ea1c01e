from __future__ import annotations

import pytest
import torch
from captum.attr import LayerConductance

from headscope.analysis.importance.methods.conductance import Conductance
from headscope.analysis.importance.methods.integrated_gradients import integrals, savings
from headscope.models.head_model import HeadModel
from headscope.tasks.batches.masked_losses import open_gates
from tests.analysis.hand_wired import hand_wired
from tests.analysis.subjects import subject
from tests.reference.conductance import conductances


def places(head_model: HeadModel, layer: int) -> list[int]:
    return [place for head, place in head_model.grid.positions.items() if head.layer == layer]


@pytest.mark.parametrize("kind", ["encoder", "seq2seq"])
def test_values_equal_the_integral_over_neurons_one_example_at_a_time(kind: str) -> None:
    head_model, task = subject(kind)
    example = next(iter(task.batches(head_model, "calibration", 1)))
    values, _ = Conductance(128).of_batch(head_model, task, example)
    found = conductances(head_model, task, example, 24)
    expected = torch.tensor([found[head] for head in head_model.grid], dtype=torch.float64)
    torch.testing.assert_close(values[0], expected, rtol=0, atol=2e-3 * float(expected.abs().max()))


def test_examples_of_a_batch_are_apart() -> None:
    head_model, task, _ = hand_wired()
    (batch,) = task.batches(head_model, "calibration", 3)
    values, _ = Conductance().of_batch(head_model, task, batch)
    by_index = dict(zip(batch.indices, values.tolist(), strict=True))
    for example in task.batches(head_model, "calibration", 3, budget=1):
        expected = conductances(head_model, task, example, 16)
        assert by_index[example.indices[0]] == pytest.approx(list(expected.values()), rel=1e-3, abs=1e-6)


def test_a_captum_conductance_of_each_layer_is_the_same_with_enough_steps() -> None:
    head_model, task, _ = hand_wired()
    (batch,) = task.batches(head_model, "calibration", 3)
    values, _ = Conductance().of_batch(head_model, task, batch)
    for site in head_model.sites:
        output = head_model.model.get_submodule(site.output)
        method = LayerConductance(lambda gates: savings(head_model, task, batch, gates), output)
        neurons = method.attribute(
            open_gates(head_model, len(batch)), n_steps=400, method="riemann_trapezoid", attribute_to_layer_input=True
        )
        heads = neurons.unflatten(-1, (len(site.kept), site.width)).sum(dim=(1, 3))
        own = values[:, places(head_model, site.layer)]
        torch.testing.assert_close(heads, own, rtol=0, atol=5e-3 * float(own.abs().max()))


def test_in_the_first_layer_it_is_the_integrated_gradient_and_later_it_is_not() -> None:
    head_model, task = subject("encoder")
    (batch,) = task.batches(head_model, "calibration", 2)
    values, _ = Conductance(128).of_batch(head_model, task, batch)
    integrated = integrals(head_model, task, batch, 64)
    first, last = places(head_model, 0), places(head_model, 2)
    largest = float(integrated.abs().max())
    torch.testing.assert_close(values[:, first], integrated[:, first], rtol=0, atol=2e-3 * largest)
    assert float((values[:, last] - integrated[:, last]).abs().max()) > 0.05 * largest


def test_gates_need_steps_to_open() -> None:
    with pytest.raises(ValueError, match="0 steps; at least 1 is needed"):
        Conductance(0)
