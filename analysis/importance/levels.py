"""Scores that can be compared between layers, by decree."""

from __future__ import annotations

import math

from analysis.importance.scores import Scores
from models.heads import HeadGrid


def levelled(scores: Scores, grid: HeadGrid) -> Scores:
    """Every layer divided by its L2 norm, I_h / sqrt(sum_h' I_h'^2), Michel et al. 2019; errors likewise.

    So the best head of a layer that does nothing has a high score too. The norm counts as known in the errors. A layer
    of zeros stays as it is.
    """
    norms = {
        head: math.hypot(*(scores.values[other] for other in heads)) or 1.0
        for bank in grid.banks
        for layer in range(len(bank.layers))
        for heads in [grid.layer(bank.bank, layer)]
        for head in heads
    }
    return Scores(
        {head: value / norms[head] for head, value in scores.values.items()},
        {head: error / norms[head] for head, error in scores.errors.items()},
        scores.n,
    )
