"""The control: an order that knows nothing of the model."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from headscope.models.heads import HeadId
from headscope.pruning.search.strategy import Kept, Ordered, register
from headscope.pruning.search.subject import Subject


@register
@dataclass(frozen=True)
class RandomOrder(Ordered):
    """All orders are equally likely; the seed picks one."""

    key = "random"
    title = "Random"
    reference = "control"
    about = "Removes heads in an order drawn by the seed: what every other strategy has to beat."

    seed: int = field(default=0, metadata={"about": "Another seed is another order."})

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.seed < 0:
            raise ValueError(f"the seed {self.seed}; 0 or more are allowed")

    def order(self, subject: Subject) -> list[HeadId]:
        """As the seed draws it."""
        drawn = np.random.default_rng(self.seed).permutation(len(subject.heads)).tolist()
        return list(Kept(subject, self.at_least).allowed(subject.heads[place] for place in drawn))
