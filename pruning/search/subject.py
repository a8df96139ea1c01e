"""What a strategy is told about a model: which heads may go, and callbacks for what it may ask."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from headscope.models.heads import HeadGrid, HeadId
from headscope.pruning.masks import HeadMask

Layer = tuple[str, int]
Scores = Mapping[HeadId, float]
Gradients = NDArray[np.float64]


def _no_scores(mask: HeadMask) -> Scores:
    raise ValueError(f"no scores were given for a model without {len(mask)} heads; this strategy needs them")


def _no_losses(masks: Sequence[HeadMask]) -> Sequence[float]:
    raise ValueError(f"no losses were given for {len(masks)} masks; this strategy needs them")


def _no_gradients() -> Gradients:
    raise ValueError("no gradients were given; this strategy needs those of every example by every gate")


def _no_scoring(mask: HeadMask) -> Iterator[None]:
    """Nothing to do before scores are asked for."""
    del mask
    return iter(())


@dataclass(frozen=True, eq=False)
class Subject:
    """A model as strategies see it; `heads` are those that may go, in the order of the grid.

    `gone` are heads that are not in the model any more. `scores` gives those of the model without the heads of a mask,
    higher is more important, and `scoring` finds them step by step before, for whoever may be interrupted; `losses` the
    mean losses under masks; `gradients` the derivatives of the loss by the gates
    of the unpruned model, [example, head] in the order of the grid; `roles` the roles of those heads that have any.
    """

    grid: HeadGrid
    heads: tuple[HeadId, ...]
    gone: frozenset[HeadId] = frozenset()
    scores: Callable[[HeadMask], Scores] = _no_scores
    scoring: Callable[[HeadMask], Iterator[None]] = _no_scoring
    losses: Callable[[Sequence[HeadMask]], Sequence[float]] = _no_losses
    gradients: Callable[[], Gradients] = _no_gradients
    roles: Mapping[HeadId, Collection[str]] = field(default_factory=dict)

    @property
    def unpruned(self) -> HeadMask:
        """No head removed."""
        return HeadMask(self.grid)

    def n_heads(self) -> Counter[Layer]:
        """How many heads each layer has now."""
        return Counter(layer_of(head) for head in self.grid if head not in self.gone)


def heads_of(grid: HeadGrid, gone: Collection[HeadId], banks: str = "") -> tuple[HeadId, ...]:
    """The heads that are there, or those of the named banks, `encoder cross` for one."""
    named = {grid.bank(bank).bank for bank in banks.replace(",", " ").split()}
    return tuple(head for head in grid if head not in gone and (not named or head.bank in named))


def layer_of(head: HeadId) -> Layer:
    """The layer of a head."""
    return head.bank, head.layer
