"""A made-up model of two banks for strategies: layers of several sizes, two heads gone, numbers from a seed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from headscope.models.heads import HeadBank, HeadGrid, HeadId, LayerHeads
from headscope.pruning.masks import HeadMask
from headscope.pruning.search.subject import Subject

GRID = HeadGrid(
    (
        HeadBank("encoder", tuple(LayerHeads(tuple(range(n))) for n in (4, 3, 5))),
        HeadBank("cross", tuple(LayerHeads(tuple(range(n))) for n in (2, 4))),
    )
)
GONE = frozenset({HeadId("encoder", 0, 1), HeadId("cross", 1, 3)})
HEADS = tuple(head for head in GRID if head not in GONE)
ROLES = {
    HeadId("encoder", 0, 0): ["positional"],
    HeadId("encoder", 2, 3): ["positional", "syntactic"],
    HeadId("cross", 0, 1): ["syntactic"],
}


@dataclass
class MadeUp:
    """Losses are quadratic in the removed heads, so that heads depend on each other; `asked` counts evaluations."""

    seed: int = 0
    depend: float = 1.0
    asked: list[frozenset[HeadId]] = field(default_factory=list)

    def __post_init__(self) -> None:
        random = np.random.default_rng(self.seed)
        self.single = random.random(len(GRID))
        pairs = random.normal(size=(len(GRID), len(GRID)))
        self.pairs = self.depend * (pairs + pairs.T) / 10
        self.gradients = random.normal(size=(30, len(GRID))) + random.normal(size=(1, len(GRID)))

    def loss(self, removed: frozenset[HeadId]) -> float:
        self.asked.append(removed)
        places = [GRID.positions[head] for head in GRID if head in removed]
        return float(self.single[places].sum() + self.pairs[np.ix_(places, places)].sum())

    def scores(self, removed: frozenset[HeadId]) -> dict[HeadId, float]:
        """What a head costs now, by the first order; a removed one scores 0."""
        places = [GRID.positions[head] for head in GRID if head in removed]
        values = self.single + self.pairs[:, places].sum(axis=1)
        return {head: 0.0 if head in removed else float(values[place]) for head, place in GRID.positions.items()}

    def subject(self, heads: Sequence[HeadId] = HEADS) -> Subject:
        return Subject(
            GRID,
            tuple(heads),
            gone=GONE,
            scores=lambda mask: self.scores(mask.removed),
            losses=lambda masks: [self.loss(mask.removed) for mask in masks],
            gradients=lambda: self.gradients,
            roles=ROLES,
        )


def mask(*heads: HeadId) -> HeadMask:
    return HeadMask(GRID, frozenset(heads))
