"""Random choices that know their own probability."""

from __future__ import annotations

import math
import random
from bisect import bisect
from collections.abc import Iterable
from itertools import accumulate
from typing import Generic, TypeVar

T = TypeVar("T")


class Table(Generic[T]):
    """Options with fixed weights, ready to be drawn from."""

    __slots__ = ("cumulative", "logs", "options")

    def __init__(self, weighted: Iterable[tuple[T, float]]) -> None:
        """Normalise the weights; options of weight zero are dropped."""
        pairs = [(option, weight) for option, weight in weighted if weight > 0]
        if not pairs:
            raise ValueError("a table needs at least one option of positive weight, none was given")
        total = sum(weight for _, weight in pairs)
        self.options = tuple(option for option, _ in pairs)
        self.logs = tuple(math.log(weight / total) for _, weight in pairs)
        self.cumulative = tuple(accumulate(weight / total for _, weight in pairs))

    @classmethod
    def zipf(cls, options: Iterable[T], shift: float = 2.0) -> Table[T]:
        """Weights 1 / (rank + shift), most frequent first."""
        return cls((option, 1 / (rank + shift)) for rank, option in enumerate(options))

    @classmethod
    def even(cls, options: Iterable[T]) -> Table[T]:
        """Equal weights."""
        return cls((option, 1.0) for option in options)


class Sampler:
    """Draws from tables and adds up the natural logarithm of the probability of what was drawn."""

    __slots__ = ("log_probability", "random")

    def __init__(self, source: random.Random) -> None:
        """Start at log probability zero."""
        self.random = source.random
        self.log_probability = 0.0

    def pick(self, table: Table[T]) -> T:
        """One option; a table with one option costs nothing."""
        options = table.options
        if len(options) == 1:
            return options[0]
        index = min(bisect(table.cumulative, self.random()), len(options) - 1)
        self.log_probability += table.logs[index]
        return options[index]

    def chance(self, probability: float) -> bool:
        """True with the given probability."""
        if probability <= 0.0:
            return False
        if probability >= 1.0:
            return True
        if self.random() < probability:
            self.log_probability += math.log(probability)
            return True
        self.log_probability += math.log1p(-probability)
        return False

    def below(self, count: int) -> int:
        """A whole number from 0 to count - 1, all equally likely."""
        if count > 1:
            self.log_probability -= math.log(count)
        return min(int(self.random() * count), count - 1)
