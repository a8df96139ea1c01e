"""Layer-wise gates: as L0 gates, but cut to 0 or 1 while they are trained, Shim et al. 2021."""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
from jaxtyping import Bool
from torch import Tensor

from headscope.pruning.training import hard_concrete
from headscope.pruning.training.gate_scheme import Clock, Numbers, Scalar, Scheme, positive, register
from headscope.pruning.training.hard_concrete import SHIM_BETA, SHIM_START


@register
@dataclass(frozen=True)
class Layerwise(Scheme):
    """Loss + c(t) * sum over all heads of P(g_h != 0), c(t) rising in a line from 0; heads are 0 or 1 in every step.

    There is one coefficient for all layers: "layer-wise" means that layers may end with different numbers of heads.
    Differs: the paper trains for 20 epochs with LAMB, gates at ten times the rate of the weights, 0.001; a short run
    needs a higher rate. The scaling of a layer's output by heads / heads left is left out, as in the released code.
    """

    key = "layerwise"
    title = "Layer-wise gates"
    reference = "Shim et al. 2021"
    about = "Gates that are 0 or 1 in every step and start open; the price of an open one rises slowly."
    score = "the probability that the gate of the head is open"
    clip = 0.5

    penalty: float = field(default=0.015, metadata={"about": "Price of an open gate once it has risen."})
    warm_up: float = field(default=0.25, metadata={"about": "Share of the steps over which the price rises."})
    rate: float = field(default=0.05, metadata={"about": "Learning rate of the gates."})

    def __post_init__(self) -> None:
        positive(penalty=self.penalty, rate=self.rate)
        if not 0 <= self.warm_up <= 1:
            raise ValueError(f"warm_up={self.warm_up:g}; a share from 0 to 1 is needed")

    @property
    def gate_rate(self) -> float:
        """As set."""
        return self.rate

    def start(self, uniform: Numbers) -> Numbers:
        """Open."""
        return torch.full_like(uniform, SHIM_START)

    def draw(self, numbers: Numbers, uniform: Numbers, clock: Clock) -> Numbers:
        """Zeros and ones, differentiated as if they had not been cut."""
        del clock
        return hard_concrete.binarised(numbers, uniform)

    def n_open(self, numbers: Numbers) -> Scalar:
        """The sum of P(open)."""
        return hard_concrete.expected_open(numbers, SHIM_BETA)

    def first_price(self) -> float:
        """Nothing, unless it need not rise."""
        return 0.0 if self.warm_up else self.penalty

    def next_price(self, price: Scalar, numbers: Numbers, clock: Clock) -> Scalar:
        """The penalty, or the share of it to which it has risen."""
        del numbers
        rising = self.warm_up * clock.steps
        return torch.full_like(price, self.penalty * (min(1.0, (clock.step + 1) / rising) if rising else 1.0))

    def shown(self, numbers: Numbers, clock: Clock) -> Numbers:
        """P(open)."""
        del clock
        return hard_concrete.p_open(numbers, SHIM_BETA)

    def scores(self, numbers: Numbers) -> Numbers:
        """P(open)."""
        return hard_concrete.p_open(numbers, SHIM_BETA)

    def kept(self, numbers: Numbers) -> Bool[Tensor, " head"]:
        """Those that are rather one than zero."""
        return hard_concrete.stays(numbers)
