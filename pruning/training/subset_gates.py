"""Differentiable subset pruning: exactly K of all heads, by weights that compete for K places; Li et al. 2021."""

from __future__ import annotations

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor
from torch.autograd.function import once_differentiable

Weights = Float[Tensor, " head"]
Gates = Float[Tensor, " head"]


def gumbel(uniform: Float[Tensor, " head"]) -> Float[Tensor, " head"]:
    """Gumbel noise, -log(-log u), of uniform numbers."""
    limits = torch.finfo(uniform.dtype)
    u = uniform.clamp(limits.tiny, 1 - limits.eps)
    return -torch.log(-torch.log(u))


def soft_subset(weights: Weights, noise: Float[Tensor, " head"], k: int, temperature: float) -> Gates:
    """A soft choice of K heads: gates that add up to K at every temperature, and are 0 or 1 once it is cold.

    r_1 = w + noise, p_j = softmax(r_j / t), r_{j+1} = r_j + log(max(1 - p_j, tiny)); the gates are the sum of K such p.
    On the way a single gate may be larger than 1.
    """
    check_subset(k, len(weights))
    gates: Gates = _SoftSubset.apply(weights + noise, k, temperature)  # type: ignore[no-untyped-call]
    return gates


class _SoftSubset(torch.autograd.Function):
    """The K rounds of `soft_subset` with a backward pass by hand, as every operation counts K times.

    With s_j = r_j / t and a_j the gradient by s_j: a_K = p_K (g - <p_K, g>) for the gradient g by the gates, and for
    the rounds before d_j = g - a_{j+1} / (t (1 - p_j)) and a_j = a_{j+1} + p_j (d_j - <p_j, d_j>).
    """

    @staticmethod
    def forward(ctx: Any, start: Tensor, k: int, temperature: float) -> Tensor:
        """The gates."""
        tiny = torch.finfo(start.dtype).tiny
        scaled = start / temperature
        chosen = scaled.new_empty(k, len(scaled))
        for row in chosen:
            torch.softmax(scaled, dim=-1, out=row)
            left = torch.sub(1, row).clamp_(min=tiny).log_()
            scaled.add_(left, alpha=1 / temperature)
        ctx.save_for_backward(chosen)
        ctx.temperature = temperature
        return chosen.sum(dim=0)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
        """The gradient by the start of the first round."""
        (chosen,) = ctx.saved_tensors
        left = 1 - chosen
        slopes = torch.where(left > 0, -1 / (ctx.temperature * left), 0.0)
        found = torch.zeros_like(gradient)
        for row, slope in zip(chosen.flip(0), slopes.flip(0), strict=True):
            by_row = torch.addcmul(gradient, found, slope)
            found.addcmul_(row, by_row - torch.dot(row, by_row))
        return found / ctx.temperature, None, None


def hard_subset(weights: Weights, k: int) -> Gates:
    """1 for the K heads of the largest weights, 0 for the others: always exactly K ones; of equal ones the first wins.

    Differs from the released code, which compares with the (K+1)-th largest: that fails if K is all heads, and gives
    fewer than K where weights are equal.
    """
    check_subset(k, len(weights))
    order = torch.argsort(weights, descending=True, stable=True)
    return torch.zeros_like(weights).index_fill(0, order[:k], 1.0)


def straight_through(weights: Weights, k: int) -> Gates:
    """The hard choice, differentiated as if the gates were the weights: no noise, no temperature."""
    return hard_subset(weights.detach(), k) + (weights - weights.detach())


def check_subset(k: int, n_heads: int) -> None:
    """Raise a ValueError unless K of so many heads can be kept."""
    if not 1 <= k <= n_heads:
        raise ValueError(f"{k} heads to keep of {n_heads}; from 1 to {n_heads} are allowed")
