"""How far two rankings of the same heads agree, whatever made them: methods, samples, tasks or checkpoints."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from headscope.models.heads import HeadId

Ranked = Mapping[HeadId, float]
Array = NDArray[np.float64]

BLOCK = 256
"""Rows of the table of all pairs that Kendall's correlation looks at together."""


@dataclass(frozen=True)
class Agreement:
    """Two rank correlations, and the share of the k best heads that both name, among n heads."""

    spearman: float
    kendall: float
    overlap: float
    k: int
    n: int

    @property
    def overlap_by_chance(self) -> float:
        """The overlap that two random rankings have on average."""
        return self.k / self.n


def agreement(first: Ranked, second: Ranked, k: int) -> Agreement:
    """How far two rankings agree."""
    return Agreement(spearman(first, second), kendall(first, second), overlap(first, second, k), k, len(first))


def agreements(rankings: Mapping[str, Ranked], k: int) -> dict[tuple[str, str], Agreement]:
    """How far any two of some named rankings agree, each pair once, in the order in which they are given."""
    return {(a, b): agreement(rankings[a], rankings[b], k) for a, b in combinations(rankings, 2)}


def spearman(first: Ranked, second: Ranked) -> float:
    """Pearson's correlation of the ranks, equal scores sharing theirs; 0 if one of the two puts nothing in order."""
    a, b = (ranks(scores) - (len(scores) + 1) / 2 for scores in _paired(first, second))
    norm = np.sqrt((a @ a) * (b @ b))
    return float(a @ b / norm) if norm else 0.0


def kendall(first: Ranked, second: Ranked) -> float:
    """Kendall's tau-b; 0 if one of the two puts nothing in order.

    tau = (C - D) / sqrt(A B): C and D pairs of heads are in the same and in opposite order, the first ranking puts A
    pairs in order and the second B.
    """
    a, b = _paired(first, second)
    agreed = ordered_a = ordered_b = 0
    for start in range(0, len(a), BLOCK):
        rows = slice(start, start + BLOCK)
        signs_a = np.sign(a[rows, None] - a).astype(np.int8)
        signs_b = np.sign(b[rows, None] - b).astype(np.int8)
        agreed += int((signs_a * signs_b).sum(dtype=np.int64))
        ordered_a += int(np.count_nonzero(signs_a))
        ordered_b += int(np.count_nonzero(signs_b))
    norm = np.sqrt(float(ordered_a) * float(ordered_b))
    return float(agreed / norm) if norm else 0.0


def overlap(first: Ranked, second: Ranked, k: int) -> float:
    """The share of the k best heads of one that are among the k best of the other.

    Of heads with equal scores the one with the lower address comes first.
    """
    _paired(first, second)
    if not 1 <= k <= len(first):
        raise ValueError(f"the {k} best of {len(first)} heads; allowed are 1 to {len(first)}")
    return len(best(first, k) & best(second, k)) / k


def best(scores: Ranked, k: int) -> frozenset[HeadId]:
    """The k heads with the highest scores."""
    return frozenset(sorted(scores, key=lambda head: (-scores[head], head))[:k])


def ranks(scores: Array) -> Array:
    """The rank of every score, the lowest 1; equal scores have the mean of their ranks."""
    _, group, counts = np.unique(scores, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    mean: Array = (last - (counts - 1) / 2)[group]
    return mean


def _paired(first: Ranked, second: Ranked) -> tuple[Array, Array]:
    """The scores of both in one order."""
    if first.keys() != second.keys():
        raise ValueError(
            f"rankings of {len(first)} and {len(second)} heads, {len(first.keys() & second.keys())} of them the same; "
            "both must rank the same heads"
        )
    heads = list(first)
    return np.array([first[head] for head in heads]), np.array([second[head] for head in heads])
