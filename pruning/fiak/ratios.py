"""What pruning saves of one attention layer, by arithmetic alone."""

from __future__ import annotations

OPERATIONS_A_SCORE = 4
"""For each number of a head's width: a product and a sum for the score, and again for the value."""


def layer_ratios(length: int, d_model: int, scores: float, keys: float) -> tuple[float, float]:
    """Operations and memory of one attention layer after pruning, as shares of the dense one, by arithmetic.

    Operations: 8 N d^2 of the four projections and 4 N^2 d of scores and values; pruned scores save of the latter, and
    pruned keys, if all heads prune them, of the key and value projections. Memory: N^2 scores and 4 N d of
    the projections, for one head of width d. A pruned key takes its scores along: with `scores` at 0, so many are gone
    as `keys` says; mixed pruning counts them among its `scores`. This is what the paper draws against N, not what a
    kernel reaches.
    """
    gone = max(scores, keys)
    linear, square = 2 * length * d_model**2, OPERATIONS_A_SCORE * length**2 * d_model
    operations = (2 + 2 * (1 - keys)) * linear + (1 - gone) * square
    numbers = (2 + 2 * (1 - keys)) * length * d_model + (1 - gone) * length**2
    return operations / (4 * linear + square), numbers / (4 * length * d_model + length**2)
