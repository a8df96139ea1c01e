"""A problem of ten heads whose best subsets are known by trying them all.

What the heads give together has to match a target. Some heads are worth much, some little, some are worse copies of
others, and some only make noise.
"""

from __future__ import annotations

from functools import cache
from itertools import combinations

import torch
from torch import Tensor

from headscope.pruning.training.gate_scheme import Scheme
from headscope.pruning.training.gate_training import Learner

HEADS = 10
EXAMPLES = 64


@cache
def outputs() -> Tensor:
    """What every head gives, [example, head]."""
    generator = torch.Generator().manual_seed(5)
    given = torch.randn(EXAMPLES, HEADS, generator=generator, dtype=torch.float64)
    given[:, 5] = given[:, 0] + 0.5 * given[:, 5]
    given[:, 6] = given[:, 1] + 0.5 * given[:, 6]
    return given * torch.tensor([1.5, 1.2, 1.0, 0.7, 0.3, 1.0, 1.0, 0.5, 0.4, 0.2], dtype=torch.float64)


def loss_of(gates: Tensor) -> Tensor:
    """How far the gated heads are from what heads 0 to 4 give."""
    wanted = outputs()[:, :5].sum(dim=1)
    return (outputs() @ gates.to(torch.float64) - wanted).square().mean()


@cache
def best_of(k: int) -> frozenset[int]:
    """The k heads of the lowest loss."""
    return min((frozenset(one) for one in combinations(range(HEADS), k)), key=loss_of_subset)


@cache
def best_at(price: float) -> frozenset[int]:
    """The heads of the lowest loss plus price for each."""
    subsets = (frozenset(one) for k in range(HEADS + 1) for one in combinations(range(HEADS), k))
    return min(subsets, key=lambda one: loss_of_subset(one) + price * len(one))


def loss_of_subset(heads: frozenset[int]) -> float:
    return float(loss_of(torch.tensor([float(head in heads) for head in range(HEADS)])))


def learned(scheme: Scheme, seed: int, steps: int) -> frozenset[int]:
    """The heads that stay after training."""
    learner = Learner(scheme, HEADS, steps, seed, torch.device("cpu"))
    while learner.step < steps:
        drawn = learner.draw()
        gates = drawn.detach().requires_grad_()
        (gradient,) = torch.autograd.grad(loss_of(gates), gates)
        learner.learn(drawn, gradient)
    return frozenset(learner.kept().nonzero().flatten().tolist())
