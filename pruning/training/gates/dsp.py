"""Differentiable subset pruning as schemes: exactly `keep` heads stay, Li et al. 2021."""

from __future__ import annotations

from dataclasses import dataclass, field

from jaxtyping import Bool
from torch import Tensor

from headscope.pruning.training.cooling import Cooling
from headscope.pruning.training.gate_scheme import Clock, Numbers, Scalar, Scheme, positive, register
from headscope.pruning.training.subset_gates import check_subset, gumbel, hard_subset, soft_subset, straight_through

SPREAD = 0.5
"""Weights begin between minus and plus this, what Xavier's rule gives for 12 layers of 12 heads."""


@dataclass(frozen=True)
class Subset(Scheme):
    """What both schemes have in common: K places, for which heads compete by their weights."""

    reference = "Li et al. 2021"
    score = "the weight with which the head competes for a place"

    keep: int = field(default=0, metadata={"about": "Heads that stay, exactly."})

    def check(self, n_heads: int, steps: int) -> None:
        """As many heads as shall stay must be there."""
        del steps
        check_subset(self.keep, n_heads)

    def start(self, uniform: Numbers) -> Numbers:
        """Small numbers by chance."""
        return SPREAD * (2 * uniform - 1)

    def n_open(self, numbers: Numbers) -> Scalar:
        """K, always."""
        return numbers.new_tensor(self.keep)

    def scores(self, numbers: Numbers) -> Numbers:
        """The weights."""
        return numbers

    def kept(self, numbers: Numbers) -> Bool[Tensor, " head"]:
        """The K largest weights, without chance."""
        return hard_subset(numbers, self.keep) > 0


@register
@dataclass(frozen=True)
class Dsp(Cooling, Subset):
    """Gates that are a soft choice of K heads by weights and Gumbel noise, harder and harder as the run cools.

    Weights learn only while it cools: cold gates are exactly 0 or 1 and have no gradient. On the way gradients are
    sometimes huge, so they are clipped.
    """

    key = "dsp"
    title = "Subset gates"
    about = "Heads compete for exactly so many places, at first softly, in the end for good."

    @property
    def gate_rate(self) -> float:
        """As set."""
        return self.rate

    def check(self, n_heads: int, steps: int) -> None:
        """The run must be long enough to become cold."""
        super().check(n_heads, steps)
        self.check_steps(steps)

    def temperature(self, clock: Clock) -> float:
        """That of this step."""
        return self.temperature_in(clock.step, clock.steps)

    def draw(self, numbers: Numbers, uniform: Numbers, clock: Clock) -> Numbers:
        """A soft choice with noise."""
        return soft_subset(numbers, gumbel(uniform), self.keep, self.temperature(clock))

    def shown(self, numbers: Numbers, clock: Clock) -> Numbers:
        """The choice without noise; what is above 1 on the way is cut."""
        return soft_subset(numbers, 0 * numbers, self.keep, self.temperature(clock)).clamp(max=1)


@register
@dataclass(frozen=True)
class StraightThrough(Subset):
    """Gates that are exactly K ones in every step; their gradient goes to the weights as it is."""

    key = "dsp-ste"
    title = "Subset gates, straight through"
    about = "The heads of the largest weights are open in every step, exactly so many; weights follow the gradient."

    rate: float = field(default=0.02, metadata={"about": "Learning rate of the weights of the heads."})

    def __post_init__(self) -> None:
        positive(rate=self.rate)

    @property
    def gate_rate(self) -> float:
        """As set."""
        return self.rate

    def draw(self, numbers: Numbers, uniform: Numbers, clock: Clock) -> Numbers:
        """The K largest."""
        del uniform, clock
        return straight_through(numbers, self.keep)

    def shown(self, numbers: Numbers, clock: Clock) -> Numbers:
        """The K largest."""
        del clock
        return hard_subset(numbers, self.keep)
