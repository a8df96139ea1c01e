"""L0 gates: every head may stay as long as it is worth its price, Voita et al. 2019."""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
from jaxtyping import Bool
from torch import Tensor

from headscope.pruning.training import hard_concrete
from headscope.pruning.training.gate_scheme import Clock, Numbers, Scalar, Scheme, positive, register
from headscope.pruning.training.subset_gates import check_subset, hard_subset

START = 2.0
"""Where log_a begins: gates nearly always open, as the model was trained; ours, after the layer-wise paper."""

RAMP = 0.6
"""The share of the steps over which the wanted number of open gates falls from all to what is wanted; ours."""

GAIN = 0.3
"""How much the logarithm of the price rises in a step in which all gates are open and none should be; ours."""


@register
@dataclass(frozen=True)
class L0(Scheme):
    """Hard Concrete gates with a price on every open one: loss + penalty * sum over heads of P(g_h != 0).

    With `keep` the price is found on the way: after every step log(price) changes by GAIN times the share of gates that
    are open less the share that is wanted, which falls in a line from 1 to keep / heads over the first RAMP of the
    steps; nothing is charged while no more gates are open than are wanted. In the end the `keep` heads of the largest
    P(open) stay; without `keep`, those with P(g = 1) > P(g = 0).
    """

    key = "l0"
    title = "L0 gates"
    reference = "Voita et al. 2019"
    about = "Every head has a gate that is open or shut by chance; open gates cost, so only useful heads stay."
    score = "the probability that the gate of the head is open"

    penalty: float = field(default=0.02, metadata={"about": "Price of an open gate; with keep, the first price."})
    keep: int = field(default=0, metadata={"about": "Heads that shall stay; 0: as many as are worth the penalty."})
    rate: float = field(default=0.1, metadata={"about": "Learning rate of the gates."})

    def __post_init__(self) -> None:
        positive(penalty=self.penalty, rate=self.rate)

    @property
    def gate_rate(self) -> float:
        """As set."""
        return self.rate

    def check(self, n_heads: int, steps: int) -> None:
        """As many heads as shall stay must be there."""
        del steps
        if self.keep:
            check_subset(self.keep, n_heads)

    def start(self, uniform: Numbers) -> Numbers:
        """All open."""
        return torch.full_like(uniform, START)

    def draw(self, numbers: Numbers, uniform: Numbers, clock: Clock) -> Numbers:
        """One draw for the whole batch."""
        del clock
        return hard_concrete.sampled(numbers, uniform)

    def n_open(self, numbers: Numbers) -> Scalar:
        """The sum of P(open)."""
        return hard_concrete.expected_open(numbers)

    def first_price(self) -> float:
        """The penalty."""
        return self.penalty

    def charged(self, price: Scalar, numbers: Numbers, clock: Clock) -> Scalar:
        """The price; nothing while no more gates are open than shall be by now."""
        if not self.keep:
            return price
        n_open = self.n_open(numbers.detach())
        return price * (n_open > wanted_open(self.keep, len(numbers), clock))

    def next_price(self, price: Scalar, numbers: Numbers, clock: Clock) -> Scalar:
        """The same, unless the price is to be found."""
        if not self.keep:
            return price
        n_open, n_heads = self.n_open(numbers), len(numbers)
        return price * torch.exp(GAIN * (n_open - wanted_open(self.keep, n_heads, clock)) / n_heads)

    def shown(self, numbers: Numbers, clock: Clock) -> Numbers:
        """P(open)."""
        del clock
        return hard_concrete.p_open(numbers)

    def scores(self, numbers: Numbers) -> Numbers:
        """P(open)."""
        return hard_concrete.p_open(numbers)

    def kept(self, numbers: Numbers) -> Bool[Tensor, " head"]:
        """The `keep` likeliest to be open, or those that are rather one than zero."""
        return hard_subset(numbers, self.keep) > 0 if self.keep else hard_concrete.stays(numbers)


def wanted_open(keep: int, n_heads: int, clock: Clock) -> float:
    """How many gates should be open by now."""
    share = min(1.0, (clock.step + 1) / (RAMP * clock.steps))
    return n_heads - share * (n_heads - keep)
