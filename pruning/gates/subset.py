"""Differentiable subset pruning: exactly K of all heads, by weights that compete for K places; Li et al. 2021."""

from __future__ import annotations

import math

import torch
from jaxtyping import Float
from torch import Tensor

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
    tiny = torch.finfo(weights.dtype).tiny
    scaled = (weights + noise) / temperature  # r / t all along: every operation counts, as there are K rounds of them
    chosen = [torch.softmax(scaled, dim=-1)]
    for _ in range(k - 1):
        scaled = torch.add(scaled, torch.log((1 - chosen[-1]).clamp(min=tiny)), alpha=1 / temperature)
        chosen.append(torch.softmax(scaled, dim=-1))
    return torch.stack(chosen).sum(dim=0)


def temperature_at(step: int, cool: int, hot: float, cold: float) -> float:
    """exp(log hot - step / cool (log hot - log cold)), a straight fall in logarithms; then cold for ever."""
    share = min(1.0, step / cool)
    return math.exp(math.log(hot) - share * (math.log(hot) - math.log(cold)))


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
