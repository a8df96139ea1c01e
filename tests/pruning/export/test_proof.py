from __future__ import annotations

import math
from pathlib import Path

import pytest
import torch

from headscope.models.example_inputs import main_output
from headscope.models.gating import gated
from headscope.models.heads import HeadId
from headscope.pruning.export.proof import Reference
from headscope.pruning.masks import HeadMask
from tests.families import family

EXPECTED = torch.tensor([1.0, -4.0, 2.0])


@pytest.mark.parametrize(
    ("outputs", "difference"),
    [
        ([EXPECTED], 0.0),
        ([EXPECTED, EXPECTED + torch.tensor([0.0, 0.0, 0.4])], 0.1),
        ([EXPECTED, torch.full((3,), math.nan)], math.inf),
        ([torch.full((3,), math.inf), EXPECTED], math.inf),
        ([EXPECTED[:2]], math.inf),
        ([EXPECTED[None]], math.inf),
    ],
)
def test_the_proof_is_the_worst_difference_in_units_of_the_largest_output(
    outputs: list[torch.Tensor], difference: float
) -> None:
    proof = Reference({}, EXPECTED, 10).compare(outputs, 5, 1)
    assert proof.max_difference == pytest.approx(difference)
    assert proof.equal == (difference == 0.0)


def test_tiny_outputs_are_compared_on_their_own_scale() -> None:
    assert not Reference({}, torch.full((3,), 1e-4), 10).compare([torch.full((3,), 2e-4)], 5, 1).equal


@pytest.mark.parametrize(("name", "bank"), [("bert", "encoder"), ("llama", "decoder"), ("gemma3", "decoder")])
def test_a_proof_says_how_much_the_mask_changes_and_on_how_many_positions(name: str, bank: str) -> None:
    model = family(name)
    mask = HeadMask(model.grid, frozenset({HeadId(bank, 0, 0), HeadId(bank, 0, 1)}))
    reference = Reference.of(model, mask)
    proof = reference.compare([reference.expected], 5, 1)
    assert proof.positions >= 32
    assert proof.is_telling and proof.verdict.startswith("equal to the masked model")
    with gated(model, mask.as_gates(model.device)):
        masked = main_output(model, reference.inputs)
    dense = main_output(model, reference.inputs)
    assert proof.mask_effect == pytest.approx(float((dense - masked).abs().max() / masked.abs().max()))


def test_a_mask_that_changes_nothing_is_no_proof() -> None:
    model = family("bert")
    reference = Reference.of(model, HeadMask(model.grid))
    proof = reference.compare([reference.expected], 5, 1)
    assert proof.equal and not proof.is_telling
    assert proof.verdict == f"no proof: the mask changes nothing measurable on these {proof.positions} positions"


def test_what_a_mask_changes_is_saved_beside_the_model(tmp_path: Path) -> None:
    model = family("bert")
    reference = Reference.of(model, HeadMask(model.grid, frozenset({HeadId("encoder", 0, 0)})))
    reference.save(tmp_path)
    again = Reference.read(tmp_path, reference.parameters_dense)
    assert (again.mask_effect, again.positions) == (reference.mask_effect, reference.positions)
    assert again.mask_effect > 0
