"""How subset gates cool, without tensors: a straight fall of logarithms, and whether a run is long enough for it."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

COOL_SHARE = 0.8
"""The share of the steps after which a run is cold where nothing else is said; ours."""

WARM, HARD = 10.0, 0.01
"""Between these temperatures heads compete: above all gates are nearly alike, below they are nearly 0 or 1; ours."""

FEWEST = 50
"""Steps between WARM and HARD with fewer of which chance decides much; ours."""


@dataclass(frozen=True)
class Cooling:
    """From hot to cold in some steps, and how fast the weights of the heads learn meanwhile."""

    hot: float = field(default=1000.0, metadata={"about": "Temperature at the start."})
    cold: float = field(default=1e-8, metadata={"about": "Temperature in the end."})
    cool: int = field(default=0, metadata={"about": "Steps in which it cools; 0: four fifths of all."})
    rate: float = field(default=0.1, metadata={"about": "Learning rate of the weights of the heads."})

    def __post_init__(self) -> None:
        for name in ("hot", "cold", "rate"):
            if not getattr(self, name) > 0:
                raise ValueError(f"{name}={getattr(self, name):g}; a number above 0 is needed")
        if self.cold >= self.hot:
            raise ValueError(f"cold={self.cold:g} and hot={self.hot:g}; cold must be the lower temperature")

    def temperature_in(self, step: int, steps: int) -> float:
        """That of one step of so many."""
        return temperature_at(step, self.cool or max(1, int(COOL_SHARE * steps)), self.hot, self.cold)

    def useful_steps(self, steps: int) -> int:
        """How many of so many steps have a temperature at which heads compete."""
        return sum(HARD <= self.temperature_in(step, steps) <= WARM for step in range(steps))

    def check_steps(self, steps: int) -> None:
        """Raise a ValueError if so many steps end before it is cold."""
        if not 0 <= self.cool <= steps:
            raise ValueError(
                f"{steps} steps for gates that cool in {self.cool}; the run would end before it is cold, so give at "
                f"least {self.cool} steps or cool faster"
            )

    def caution(self, steps: int) -> str:
        """What to know before a run of so many steps starts; empty if they are enough."""
        useful = self.useful_steps(steps)
        if useful >= FEWEST:
            return ""
        return (
            f"{useful} of {steps} steps have a temperature from {WARM:g} to {HARD:g}, in which heads compete; with "
            f"fewer than {FEWEST} chance decides much, so give more steps, or start less hot and end less cold"
        )


def temperature_at(step: int, cool: int, hot: float, cold: float) -> float:
    """exp(log hot - step / cool (log hot - log cold)), a straight fall in logarithms; then cold for ever."""
    share = min(1.0, step / cool)
    return math.exp(math.log(hot) - share * (math.log(hot) - math.log(cold)))
