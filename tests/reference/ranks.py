"""Rank correlations as their definitions say, head by head and pair by pair."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations


def spearman(first: Sequence[float], second: Sequence[float]) -> float:
    a, b = ranks(first), ranks(second)
    mean_a, mean_b = sum(a) / len(a), sum(b) / len(b)
    covariance = sum((x - mean_a) * (y - mean_b) for x, y in zip(a, b, strict=True))
    spread_a = sum((x - mean_a) ** 2 for x in a)
    spread_b = sum((y - mean_b) ** 2 for y in b)
    return covariance / math.sqrt(spread_a * spread_b)


def ranks(scores: Sequence[float]) -> list[float]:
    """One more than how many are lower, and half of how many others are equal."""
    return [1 + sum(y < x for y in scores) + (sum(y == x for y in scores) - 1) / 2 for x in scores]


def kendall(first: Sequence[float], second: Sequence[float]) -> float:
    concordant = discordant = tied_first = tied_second = pairs = 0
    for i, j in combinations(range(len(first)), 2):
        pairs += 1
        product = (first[i] - first[j]) * (second[i] - second[j])
        concordant += product > 0
        discordant += product < 0
        tied_first += first[i] == first[j]
        tied_second += second[i] == second[j]
    return (concordant - discordant) / math.sqrt((pairs - tied_first) * (pairs - tied_second))
