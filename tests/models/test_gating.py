from __future__ import annotations

import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy
from dataclasses import replace

import pytest
import torch

from headscope.models.example_inputs import example_inputs, main_output
from headscope.models.gating import gated, uninstall
from headscope.models.head_model import HeadModel
from tests.families import family


def test_per_example_gates_give_the_derivative_of_each_example_alone() -> None:
    head_model = family("bert")
    inputs = example_inputs(head_model)
    n_heads = len(head_model.grid)

    def loss_gradient(rows: slice) -> torch.Tensor:
        batch = {name: value[rows] for name, value in inputs.items()}
        gates = torch.ones(len(batch["input_ids"]), n_heads, requires_grad=True)
        with gated(head_model, gates):
            loss = head_model.model(**batch).logits.square().sum()
        return torch.autograd.grad(loss, gates)[0]

    together = loss_gradient(slice(None))
    alone = torch.cat([loss_gradient(slice(0, 1)), loss_gradient(slice(1, 2))])
    torch.testing.assert_close(together, alone, rtol=1e-4, atol=1e-5)
    assert (together != 0).all()
    assert not torch.allclose(together[0], together[1])


def test_a_gate_scales_its_head_as_a_finite_difference_says() -> None:
    head_model = family("gpt2")
    inputs = example_inputs(head_model)

    def loss(gates: torch.Tensor) -> torch.Tensor:
        with gated(head_model, gates):
            return head_model.model(**inputs).logits.double().square().mean()

    gates = torch.ones(len(head_model.grid), requires_grad=True)
    (gradient,) = torch.autograd.grad(loss(gates), gates)
    for head in (0, 5, 11):
        step = torch.zeros(len(head_model.grid))
        step[head] = 1e-2
        with torch.no_grad():
            slope = (loss(gates + step) - loss(gates - step)) / 2e-2
        assert float(slope) == pytest.approx(float(gradient[head]), rel=2e-2, abs=1e-4)


def test_gates_are_undone_when_the_body_raises() -> None:
    head_model = family("bert")
    inputs = example_inputs(head_model)
    plain = main_output(head_model, inputs)
    with pytest.raises(RuntimeError, match="in the body"), gated(head_model, torch.zeros(len(head_model.grid))):
        raise RuntimeError("in the body")
    assert torch.equal(main_output(head_model, inputs), plain)


def test_threads_with_different_masks_share_one_model() -> None:
    head_model = family("bert")
    inputs = example_inputs(head_model)
    generator = torch.Generator().manual_seed(0)
    all_gates = [torch.rand(len(head_model.grid), generator=generator) for _ in range(8)]

    def run(gates: torch.Tensor) -> torch.Tensor:
        with gated(head_model, gates):
            return main_output(head_model, inputs)

    expected = [run(gates) for gates in all_gates]
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(run, all_gates * 12))
    assert all(torch.equal(output, expected[index % 8]) for index, output in enumerate(found))
    assert not torch.equal(expected[0], expected[1])


def test_inner_gates_take_the_place_of_outer_ones_and_give_it_back() -> None:
    head_model = family("bert")
    inputs = example_inputs(head_model)
    with gated(head_model, torch.zeros(len(head_model.grid))):
        closed = main_output(head_model, inputs)
        with gated(head_model, torch.ones(len(head_model.grid))):
            opened = main_output(head_model, inputs)
        assert torch.equal(main_output(head_model, inputs), closed)
    assert torch.equal(main_output(head_model, inputs), opened)
    assert not torch.equal(opened, closed)


def test_two_models_are_gated_independently() -> None:
    one, other = family("bert"), family("roberta")
    inputs = example_inputs(other)
    plain = main_output(other, inputs)
    with gated(one, torch.zeros(len(one.grid))):
        assert torch.equal(main_output(other, inputs), plain)


def test_gates_follow_the_precision_of_the_model() -> None:
    model = deepcopy(family("bert").model).double()
    head_model = HeadModel.of(model)
    inputs = example_inputs(head_model)
    with gated(head_model, torch.full((len(head_model.grid),), 0.5)):
        assert main_output(head_model, inputs).dtype == torch.float64


@pytest.mark.parametrize("shape", [(3,), (2, 2, 12), (2, 13), ()])
def test_gates_of_a_wrong_shape_are_refused(shape: tuple[int, ...]) -> None:
    with (
        pytest.raises(ValueError, match=r"allowed are \[12\] and \[batch, 12\]"),
        gated(family("bert"), torch.ones(shape)),
    ):
        pass


def test_gates_for_another_batch_size_are_refused() -> None:
    head_model = family("bert")
    with (
        pytest.raises(ValueError, match="gates for 3 examples in a batch of 2"),
        gated(head_model, torch.ones(3, len(head_model.grid))),
    ):
        main_output(head_model, example_inputs(head_model))


def test_a_deep_copy_of_a_gated_model_has_gates_of_its_own() -> None:
    original = family("bert")
    inputs = example_inputs(original)
    gates = torch.linspace(0, 1, len(original.grid))
    with gated(original, gates):
        expected = main_output(original, inputs)
    copied = replace(original, model=deepcopy(original.model))
    with gated(original, gates):
        assert not torch.equal(main_output(copied, inputs), expected)
    with gated(copied, gates):
        assert torch.equal(main_output(copied, inputs), expected)


def test_threads_that_gate_a_model_for_the_first_time_install_one_hook_a_layer() -> None:
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for _ in range(20):
            head_model = replace(family("bert"), model=deepcopy(family("bert").model))
            uninstall(head_model.model)
            start = threading.Barrier(4)

            def gate(head_model: HeadModel = head_model, start: threading.Barrier = start) -> None:
                start.wait()
                with gated(head_model, torch.ones(len(head_model.grid))):
                    pass

            with ThreadPoolExecutor(4) as pool:
                for done in [pool.submit(gate) for _ in range(4)]:
                    done.result()
            outputs = [head_model.model.get_submodule(site.output) for site in head_model.sites]
            assert [len(output._forward_pre_hooks) for output in outputs] == [1, 1, 1]
    finally:
        sys.setswitchinterval(interval)
