"""What a model is judged on: examples in three splits, a loss per example, and metrics with intervals."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, TypeVar

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor

from headscope.models.head_model import HeadModel
from headscope.tasks.batches.batching import BUDGET, Batch, EncodedRow, batched
from headscope.tasks.batches.memory_splitting import done_in_parts, joined
from headscope.tasks.statistics.intervals import Estimate
from headscope.tasks.statistics.paired_tests import Comparison

SPLITS = ("calibration", "development", "test")
"""Score on the first, decide on the second, report the third."""

PerExample = Float[Tensor, " example"]
Choices = Float[Tensor, "example choice"]

E = TypeVar("E")


@dataclass(frozen=True)
class Splits(Generic[E]):
    """Examples, apart by what they may be used for; `make` gives those of one split, and is asked again and again.

    `fresh` makes new examples to train on, by a seed and the number of a round, where there is no end of them.
    """

    make: Callable[[str], tuple[E, ...]]
    fresh: Callable[[int, int], tuple[E, ...]] | None = None

    @classmethod
    def of(cls, calibration: Iterable[E], development: Iterable[E], test: Iterable[E]) -> Splits[E]:
        """Examples that are there already."""
        parts = (tuple(calibration), tuple(development), tuple(test))
        return cls(dict(zip(SPLITS, parts, strict=True)).__getitem__)

    def first(self, split: str, n: int | None = None) -> tuple[E, ...]:
        """The first n examples of a split, all of them by default."""
        if split not in SPLITS:
            raise ValueError(f"no split {split!r}; there are {', '.join(SPLITS)}")
        return self.make(split)[:n]

    def training(self, seed: int, number: int) -> tuple[E, ...]:
        """What one round of a training sees: fresh examples, or those of calibration again."""
        return self.first(SPLITS[0]) if self.fresh is None else self.fresh(seed, number)


@dataclass(frozen=True, eq=False)
class Outcomes:
    """What a model did on each example of a split: enough for every metric, interval and comparison.

    `indices` are the numbers of the examples in the split; every column has one entry an example, in that order.
    """

    task: str
    split: str
    indices: NDArray[np.int64]
    columns: Mapping[str, NDArray[Any]]

    def __getitem__(self, column: str) -> NDArray[Any]:
        return self.columns[column]

    @property
    def n(self) -> int:
        """The sample size."""
        return len(self.indices)


@dataclass(frozen=True)
class Metric:
    """A number made of outcomes, and the paired test that fits it; `about` says how it is computed."""

    name: str
    higher_is_better: bool
    about: str
    estimate: Callable[[Outcomes], Estimate]
    compare: Callable[[Outcomes, Outcomes], Comparison]


@dataclass(frozen=True)
class Task(ABC):
    """A task for the models that can do it; the gates that are active in the caller's context apply.

    A task of another kind needs its metrics (the first is the headline), its rows, and what is seen of a batch.
    """

    key: str
    title: str

    @property
    @abstractmethod
    def metrics(self) -> tuple[Metric, ...]:
        """The metrics, the headline first."""

    @abstractmethod
    def rows(self, head_model: HeadModel, split: str, n: int | None) -> list[EncodedRow]:
        """The first n examples of a split as the model reads them; a ValueError if it cannot do this task."""

    @property
    def fresh(self) -> bool:
        """Whether every round of a training has other examples."""
        return False

    def training_rows(self, head_model: HeadModel, seed: int, number: int) -> list[EncodedRow]:
        """What one round of a training sees, as the model reads it; by default calibration's, the same every time."""
        del seed, number
        return self.rows(head_model, SPLITS[0], None)

    @abstractmethod
    def losses(self, head_model: HeadModel, batch: Batch) -> PerExample:
        """The loss of every row, differentiable with respect to active gates."""

    @abstractmethod
    def observe(self, head_model: HeadModel, batch: Batch) -> Mapping[str, NDArray[Any]]:
        """The columns of `Outcomes` for the rows of a batch."""

    def budget(self, head_model: HeadModel) -> int:
        """Places that a batch may have where nothing else is said."""
        del head_model
        return BUDGET

    def batches(
        self, head_model: HeadModel, split: str, n: int | None = None, budget: int | None = None
    ) -> Iterator[Batch]:
        """The first n examples of a split, those of like length together, on the model's device."""
        if n is not None and n < 1:
            raise ValueError(f"{n} examples of {split}; at least 1 is needed")
        return batched(self.rows(head_model, split, n), head_model, split, budget or self.budget(head_model))

    def outcomes(self, head_model: HeadModel, split: str, n: int | None = None, budget: int | None = None) -> Outcomes:
        """What the model does on the first n examples of a split."""
        seen = [self.seen(head_model, batch) for batch in self.batches(head_model, split, n, budget)]
        return self.gathered(split, seen)

    def seen(self, head_model: HeadModel, batch: Batch) -> Outcomes:
        """What the model does on one batch."""
        with torch.inference_mode():
            columns = joined(done_in_parts(head_model, batch, partial(self.observe, head_model)))
            return Outcomes(self.key, batch.split, np.array(batch.indices), columns)

    def gathered(self, split: str, seen: Sequence[Outcomes]) -> Outcomes:
        """The outcomes of several batches as one, in the order of the split."""
        if not seen:
            raise ValueError(f"{self.title}: no example of {split} can be judged")
        indices = np.concatenate([part.indices for part in seen])
        order = np.argsort(indices, kind="stable")
        columns = {name: np.concatenate([part[name] for part in seen])[order] for name in seen[0].columns}
        return Outcomes(self.key, split, indices[order], columns)

    def estimates(self, outcomes: Outcomes) -> tuple[Estimate, ...]:
        """Every metric with its interval, the headline first."""
        return tuple(metric.estimate(outcomes) for metric in self.metrics)

    def compare(self, first: Outcomes, second: Outcomes) -> Comparison:
        """How far the headline metric of the second is above that of the first, on the same examples."""
        check_paired(first, second)
        return self.metrics[0].compare(first, second)

    @property
    def higher_is_better(self) -> bool:
        """Whether more of the headline metric is better."""
        return self.metrics[0].higher_is_better


def check_paired(first: Outcomes, second: Outcomes) -> None:
    """Raise a ValueError unless both are of the same examples."""
    named = [f"{outcomes.task} on {outcomes.n} examples of {outcomes.split}" for outcomes in (first, second)]
    if named[0] != named[1] or not np.array_equal(first.indices, second.indices):
        raise ValueError(f"{named[0]} against {named[1]}; a pair needs the same examples")


def precise(logits: Tensor) -> Tensor:
    """The logits in single precision at least, for half precision is too coarse for a loss."""
    return logits.to(torch.promote_types(logits.dtype, torch.float32))


def array(values: Tensor) -> NDArray[Any]:
    """The values, back from the device; floats in double precision."""
    here = values.cpu()  # first, for some devices have no double precision
    numbers: NDArray[Any] = (here.double() if here.is_floating_point() else here).numpy()
    return numbers
