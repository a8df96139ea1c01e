"""What every method gives, as plain values that need no torch."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from headscope.models.heads import HeadGrid, HeadId


@dataclass(frozen=True)
class Scores:
    """One number a head, higher is more important, with its standard error over n examples."""

    values: Mapping[HeadId, float]
    errors: Mapping[HeadId, float]
    n: int

    def to_json(self) -> dict[str, Any]:
        """Plain values by address."""
        return {
            "n": self.n,
            "scores": {str(head): value for head, value in self.values.items()},
            "errors": {str(head): error for head, error in self.errors.items()},
        }

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Scores:
        """What `to_json` wrote; other entries do no harm."""
        values, errors = (
            {HeadId.parse(head): float(number) for head, number in record[name].items()}
            for name in ("scores", "errors")
        )
        return cls(values, errors, record["n"])


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
