"""How a model is trained."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

WARM_UP = 0.1
"""The share of the steps in which the rate rises; then it falls to 0 in a line."""

BEST, LAST = "best", "last"


@dataclass(frozen=True)
class Settings:
    """How to train: `every` so many steps the model is judged, and `patience` judgements without a better one end it.

    A step sees `batch` examples; those of more than `longest` tokens are left out, none if that is 0. `keep_step` says
    which weights are kept: the best that were judged, or the last, after all steps. A few examples choose badly, so the
    best are worth having where many are judged or the training may run too long.
    """

    steps: int = 200
    rate: float = 2e-4
    batch: int = 16
    every: int = 20
    patience: int = 5
    n_judged: int | None = 200
    seed: int = 0
    longest: int = 0
    keep_step: str = BEST

    least_steps: ClassVar[int] = 1

    def __post_init__(self) -> None:
        for name, least in {"steps": self.least_steps, "batch": 1, "every": 1, "patience": 1}.items():
            if getattr(self, name) < least:
                raise ValueError(f"fine-tuning with {name} {getattr(self, name)}; at least {least} is needed")
        if not 0 < self.rate < 1:
            raise ValueError(f"a learning rate of {self.rate}; allowed is a number between 0 and 1")
        if self.keep_step not in (BEST, LAST):
            raise ValueError(f"keep_step {self.keep_step!r}; allowed: {BEST}, {LAST}")

    def rate_at(self, step: int) -> float:
        """The learning rate of one step, counted from 0."""
        rising = max(1, round(WARM_UP * self.steps))
        return self.rate * min((step + 1) / rising, (self.steps - step) / max(1, self.steps - rising + 1), 1.0)


@dataclass(frozen=True)
class RepairSettings(Settings):
    """The same, where no step at all is fine: then the model is judged as it is at the start."""

    least_steps = 0
