"""A trial: one training that becomes one record, declared as a frozen value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

LEARN, FINETUNE, FIAK = "learn", "finetune", "fiak"
GRADIENT, RANDOM, SAME, NONE = "gradient", "random", "same", "none"
ORDERS = (GRADIENT, RANDOM, SAME, NONE)


@dataclass(frozen=True)
class Heads:
    """Which heads a fine-tuning begins without.

    The lowest by gradient score go, or those that the seed draws, so that `keep` stay; where `like` names another
    trial, as many go as went there. `same` takes the very heads that went there, and `none` takes none.
    """

    order: str
    keep: int | None = None
    like: str = ""

    def __post_init__(self) -> None:
        if self.order not in ORDERS:
            raise ValueError(f"no order {self.order!r} of heads; known: {', '.join(ORDERS)}")
        if self.order != NONE and (self.keep is None) == (not self.like):
            raise ValueError(f"keep {self.keep} and like {self.like!r}; one of them says how many heads go")
        if self.order == SAME and not self.like:
            raise ValueError("the same heads as in which trial? like names one")


@dataclass(frozen=True)
class Trial:
    """One run: of a way to prune, at one size, with one seed.

    `kind` is the key of the kind of run and `settings` are its fields, without model and seed; `heads` are those that a
    fine-tuning begins without. `steps` are those of all its trainings together.
    """

    paper: str
    claim: str
    model: str
    tier: int
    size: str
    way: str
    seed: int
    kind: str
    settings: Mapping[str, Any]
    steps: int
    heads: Heads | None = field(default=None)

    @property
    def name(self) -> str:
        """What it and the file of its record are called."""
        return ".".join([self.paper, self.model, self.size, self.way, str(self.seed)])

    def to_json(self) -> dict[str, Any]:
        """Plain values, by which a record shows that it is of this very trial."""
        return asdict(self)
