from __future__ import annotations

import math

import pytest
import torch

from pruning.proof import Reference

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
