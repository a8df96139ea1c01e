"""Shapley values from their definitions: over all sets of heads, and over given orders."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations
from math import comb

from headscope.models.heads import HeadId

Worth = Callable[[frozenset[HeadId]], float]


def shapley_value(worth: Worth, heads: Sequence[HeadId], head: HeadId) -> float:
    """Sum over sets S of other heads of |S|! (n - |S| - 1)! / n! (worth(S and h) - worth(S))."""
    others = [other for other in heads if other != head]
    total = 0.0
    for size in range(len(heads)):
        for chosen in combinations(others, size):
            before = frozenset(chosen)
            total += (worth(before | {head}) - worth(before)) / (len(heads) * comb(len(heads) - 1, size))
    return total


def mean_contribution(worth: Worth, orders: Sequence[Sequence[HeadId]], head: HeadId) -> float:
    """Mean over orders of worth(those before h, and h) - worth(those before h)."""
    total = 0.0
    for order in orders:
        before = frozenset(order[: list(order).index(head)])
        total += worth(before | {head}) - worth(before)
    return total / len(orders)
