"""FiAK as its paper writes it, number by number."""

from __future__ import annotations

import math

import torch
from torch import Tensor


def posterior(query: Tensor, key: Tensor, prior: Tensor, causal: bool) -> Tensor:
    """A_ij = pi_ij N(q_i | k_j, s^2 I) / sum_j' pi_ij' N(q_i | k_j', s^2 I) with s^2 = sqrt(d), of one head.

    `query` and `key` are [position, d], `prior` is [query, key]; zero where all priors of a row are zero.
    """
    n, d = query.shape
    variance = math.sqrt(d)
    rows = []
    for i in range(n):
        weights = []
        for j in range(n):
            distance = ((query[i] - key[j]) ** 2).sum()
            density = torch.exp(-distance / (2 * variance)) / (2 * math.pi * variance) ** (d / 2)
            weights.append(prior[i, j] * density * (0.0 if causal and j > i else 1.0))
        total = torch.stack(weights).sum()
        rows.append(torch.stack([weight / total if total > 0 else weight for weight in weights]))
    return torch.stack(rows)


def dot_posterior(query: Tensor, key: Tensor, prior: Tensor, causal: bool) -> Tensor:
    """The same with exp(q_i'k_j / sqrt(d)) in place of the density: FiAK-style."""
    n, d = query.shape
    rows = []
    for i in range(n):
        weights = [
            prior[i, j] * torch.exp(query[i] @ key[j] / math.sqrt(d)) * (0.0 if causal and j > i else 1.0)
            for j in range(n)
        ]
        total = torch.stack(weights).sum()
        rows.append(torch.stack([weight / total if total > 0 else weight for weight in weights]))
    return torch.stack(rows)


def smallest(items: list[tuple[tuple[int, ...], float]], n: int) -> set[tuple[int, ...]]:
    """The places of the n smallest values; of equal ones the first place."""
    return {place for place, _ in sorted(items, key=lambda item: (item[1], item[0]))[:n]}


def key_score(prior: Tensor, j: int, causal: bool) -> float:
    """S(j) = sum_i |pi_ij|, or 1/(N - j + 1) sum_{i >= j} |pi_ij| with j counted from 1."""
    n = len(prior)
    if causal:
        return sum(abs(float(prior[i, j])) for i in range(j, n)) / (n - (j + 1) + 1)
    return sum(abs(float(prior[i, j])) for i in range(n))
