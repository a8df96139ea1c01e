"""Whether a method would rank the heads the same way on other examples."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from headscope.analysis.agreement import spearman
from headscope.analysis.importance.method import Method, Portion, by_example
from headscope.models.heads import HeadGrid

SPLITS = 20


@dataclass(frozen=True)
class Stability:
    """Rank correlation between halves of n examples: its mean, and what 95 of 100 random halvings lie between."""

    mean: float
    low: float
    high: float
    n_splits: int
    n: int


def stability(
    method: Method, grid: HeadGrid, found: Collection[Portion], n_splits: int = SPLITS, seed: int = 0
) -> Stability:
    """Spearman's correlation of the scores of two halves of the examples, over random halvings.

    A half has half the examples, so the ranking that all of them give is more stable than this says.
    """
    examples = by_example(found)
    n = len(examples.indices)
    if n < 2 or n_splits < 1:
        raise ValueError(f"{n_splits} halvings of {n} examples; at least 1 of 2 is needed")
    generator = np.random.default_rng(seed)
    correlations = []
    for _ in range(n_splits):
        order = generator.permutation(n)
        halves = [np.sort(part) for part in (order[: n // 2], order[n // 2 :])]
        first, second = (method.reduced(grid, examples.values[half], examples.weights[half]) for half in halves)
        correlations.append(spearman(first.values, second.values))
    low, high = np.quantile(correlations, [0.025, 0.975])
    return Stability(float(np.mean(correlations)), float(low), float(high), n_splits, n)
