"""What a scheme of learned gates is: a frozen declaration of pure functions of one trained number a head.

A scheme registers itself in the file that defines it; runs, commands and contract tests go through the registry.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Literal, get_args, get_origin, get_type_hints

from jaxtyping import Bool, Float
from torch import Tensor

from headscope.models.registry import Registry

Numbers = Float[Tensor, " head"]
Scalar = Float[Tensor, ""]


@dataclass(frozen=True)
class Clock:
    """The step that is being done, counted from 0, and how many there are."""

    step: int
    steps: int


@dataclass(frozen=True)
class Scheme(ABC):
    """A way to learn gates. Subclasses are frozen dataclasses whose fields are their options.

    Only heads whose gates are learned are seen here. `about` says in one sentence what it does; `score` says what the
    score of a head is once the gates are learned. `clip` is the largest norm of the gradient of the numbers.
    """

    key: ClassVar[str]
    title: ClassVar[str]
    reference: ClassVar[str]
    about: ClassVar[str]
    score: ClassVar[str]
    clip: ClassVar[float] = 1.0

    @property
    @abstractmethod
    def gate_rate(self) -> float:
        """The learning rate of the numbers."""

    def check(self, n_heads: int, steps: int) -> None:  # noqa: B027 - most settings suit every model
        """Raise a ValueError in one sentence if a run of so many steps over so many heads cannot end well."""

    def caution(self, steps: int) -> str:
        """What to know before a run of so many steps starts; empty if there is nothing."""
        del steps
        return ""

    @abstractmethod
    def start(self, uniform: Numbers) -> Numbers:
        """Where the numbers begin, by uniform random ones."""

    @abstractmethod
    def draw(self, numbers: Numbers, uniform: Numbers, clock: Clock) -> Numbers:
        """The gates of one training step, differentiable with respect to the numbers."""

    @abstractmethod
    def n_open(self, numbers: Numbers) -> Scalar:
        """The expected number of open gates; differentiable where there is a price on it."""

    def first_price(self) -> float:
        """What an open gate costs at first."""
        return 0.0

    def charged(self, price: Scalar, numbers: Numbers, clock: Clock) -> Scalar:
        """What an open gate costs in this step."""
        del numbers, clock
        return price

    def next_price(self, price: Scalar, numbers: Numbers, clock: Clock) -> Scalar:
        """What an open gate costs from the next step on."""
        del numbers, clock
        return price

    @abstractmethod
    def shown(self, numbers: Numbers, clock: Clock) -> Numbers:
        """Every gate without chance, from 0 to 1, for display."""

    @abstractmethod
    def scores(self, numbers: Numbers) -> Numbers:
        """What each head is worth, higher is more important."""

    @abstractmethod
    def kept(self, numbers: Numbers) -> Bool[Tensor, " head"]:
        """The heads that stay in the end."""


_SCHEMES = Registry[Scheme]("scheme of gates", "headscope.pruning.training.gates")
register, schemes, scheme_of = _SCHEMES.register, _SCHEMES.all, _SCHEMES.get


def scheme_with(key: str, settings: Mapping[str, Any]) -> Scheme:
    """The scheme of that key with these options set."""
    kind = scheme_of(key)
    hints, known = get_type_hints(kind), {one.name: one.default for one in fields(kind)}
    for name, value in settings.items():
        if name not in known:
            raise ValueError(f"no setting {name!r} of the gates {key}; they have: {', '.join(known)}")
        if get_origin(hints[name]) is Literal and value not in get_args(hints[name]):
            raise ValueError(f"{name}={value!r}; allowed: {', '.join(get_args(hints[name]))}")
        if not isinstance(value, (int, float) if hints[name] is float else type(known[name])):
            raise ValueError(f"{name}={value!r}; a value such as {known[name]!r} is needed")
    return kind(**settings)


def positive(**values: float) -> None:
    """Raise a ValueError unless all of these are above 0."""
    for name, value in values.items():
        if not value > 0:
            raise ValueError(f"{name}={value:g}; a number above 0 is needed")
