"""A model judged by a task under any mask, as fast as it goes and exactly as if each mask were judged alone."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Generator, Sequence
from dataclasses import fields
from functools import cached_property, partial, reduce
from operator import and_
from typing import Generic, TypeVar

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor

from headscope.models.gating import gated
from headscope.models.head_model import HeadModel
from headscope.models.heads import HeadId
from headscope.models.pausing import may_pause
from headscope.pruning.evaluation.cost import Costs
from headscope.pruning.evaluation.masked_passes import MEMORY, Passes, recorded_bytes
from headscope.pruning.evaluation.results import Point, Verdict
from headscope.pruning.masks import HeadMask
from headscope.tasks.batches.batching import Batch
from headscope.tasks.batches.masked_losses import MaskedLosses
from headscope.tasks.batches.memory_splitting import done_in_parts, joined
from headscope.tasks.task import Outcomes, Task
from headscope.tasks.translation import GENERATION_BUDGET, Translation

SIGNIFICANT = 0.01
"""The p-value of the paired test below which a metric counts as changed, Michel et al. 2019."""

REMEMBERED = 2**18
"""Outcomes of examples that are remembered, over all masks."""

MOST_LOSSES = 2**16
"""Masks whose loss is remembered."""

T = TypeVar("T")
Steps = Generator[tuple[int, int], None, T]
"""Work that tells after every batch how many rows of how many are done; what it returns is the answer."""


class Evaluator:
    """A model judged by a task on the first n examples of a split, under any mask.

    What was measured is remembered, within bounds. Passes go on from the first attention layer that differs from an
    earlier pass; what is generated is generated anew. Heads that the model has lost for good are left out of masks.
    """

    def __init__(self, head_model: HeadModel, task: Task, batches: Sequence[Batch], taught: Sequence[Batch]) -> None:
        """`batches` are those that outcomes are of, `taught` those that losses are of; mostly they are the same."""
        self.head_model = head_model
        self.task = task
        self.batches = tuple(batches)
        self._taught = Passes(head_model, taught)
        self._outcomes = _Recent[Outcomes](max(2, REMEMBERED // sum(map(len, batches))))
        self._losses = _Recent[float](MOST_LOSSES)
        self._shared_losses = _Recent[float](MOST_LOSSES)  # apart, so that a loss alone is never one of these

    @classmethod
    def of(cls, head_model: HeadModel, task: Task, split: str, n: int | None = None) -> Evaluator:
        """Encodes the examples."""
        taught = tuple(task.batches(head_model, split, n))
        if not taught:
            raise ValueError(f"{task.title}: no example of {split} can be judged")
        if not isinstance(task, Translation):
            return cls(head_model, task, taught, taught)
        return cls(head_model, task, tuple(task.batches(head_model, split, n, GENERATION_BUDGET)), taught)

    # metrics

    def outcomes(self, mask: HeadMask) -> Outcomes:
        """What the model does without these heads: the same as `task.outcomes` while they are gated."""
        return _returned(self.steps(mask))

    def steps(self, mask: HeadMask) -> Steps[Outcomes]:
        """The same, one step a batch; whoever loses interest just stops."""
        mask = self._own(mask)
        if mask.removed not in self._outcomes:
            seen = []
            for number in range(len(self.batches)):
                seen.append(self._seen(number, mask))
                yield sum(map(len, self.batches[: number + 1])), sum(map(len, self.batches))
            self._outcomes[mask.removed] = self.task.gathered(self.split, seen)
        return self._outcomes[mask.removed]

    def point(self, mask: HeadMask) -> Point:
        """The metric with its interval, the loss, the cost, and the paired test against the unpruned model."""
        return _returned(self.point_steps(mask))

    def point_steps(self, mask: HeadMask) -> Steps[Point]:
        """The same, one step a batch; metric, loss and what is compared with are counted one after the other."""
        verdict = yield from self.verdict_steps(mask)
        loss = yield from self.loss_steps(mask)
        return Point(**vars(verdict), loss=loss)

    def verdict_steps(self, mask: HeadMask) -> Steps[Verdict]:
        """All of a point but its loss, for somebody who waits."""
        mask = self._own(mask)
        outcomes = yield from self.steps(mask)
        compared = (None, False, "") if not mask else self._compared((yield from self.steps(self.unpruned)), outcomes)
        p, worse, test = compared
        estimate = self.task.metrics[0].estimate(outcomes)
        cost = self._costs.under(mask)
        return Verdict(
            removed=len(mask), mask=str(mask), metric=estimate.metric, value=estimate.value, low=estimate.low,
            high=estimate.high, n=estimate.n, parameters=cost.parameters, flops=cost.flops, p=p, worse=worse,
            test=test,
        )  # fmt: skip

    # losses

    def loss(self, mask: HeadMask) -> float:
        """The mean loss over examples without these heads."""
        return _returned(self.loss_steps(mask))

    def loss_steps(self, mask: HeadMask) -> Steps[float]:
        """The same, one step a batch."""
        mask = self._own(mask)
        if mask.removed not in self._losses:
            found = []
            for number in range(len(self._taught.batches)):
                found += self._taught.look(number, mask, partial(self.task.losses, self.head_model))
                yield sum(map(len, self._taught.batches[: number + 1])), sum(map(len, self._taught.batches))
            (self._losses[mask.removed],) = self._means(torch.cat(found)[None])
        return self._losses[mask.removed]

    def losses(self, masks: Sequence[HeadMask]) -> list[float]:
        """The mean losses under many masks, each batch computed from the first layer on where they differ.

        Several masks share a pass where there is room, so a loss may differ from that of its mask alone by rounding:
        far less than what strategies tell apart (`EQUAL_LOSSES` in pruning/search/strategy.py).
        """
        own = [self._own(mask) for mask in masks]
        unknown = {mask.removed: mask for mask in own if self._loss_if_known(mask) is None}
        if len(unknown) > 1:
            found = [self._under(batch, list(unknown.values())) for batch in self._taught.batches]
            means = self._means(torch.cat(found, dim=1))
            self._shared_losses.update(zip(unknown, means, strict=True))
        known = ((mask, self._loss_if_known(mask)) for mask in own)
        return [self.loss(mask) if loss is None else loss for mask, loss in known]

    # what is judged

    @property
    def split(self) -> str:
        """The split that the examples are of."""
        return self.batches[0].split

    @property
    def unpruned(self) -> HeadMask:
        """The model as it is."""
        return HeadMask(self.head_model.grid)

    @cached_property
    def mark(self) -> str:
        """A hash of all that a measurement depends on but the model and the mask: task, examples, labels, device."""
        digest = hashlib.sha256(f"{type(self.task).__name__} {self.head_model.device.type}".encode())
        plain = {one.name: getattr(self.task, one.name) for one in fields(self.task)}
        digest.update(repr([(name, value) for name, value in plain.items() if isinstance(value, str | int)]).encode())
        for batch in self.batches:
            digest.update(f"{batch.split} {batch.indices}".encode())
            for name, values in {**batch.inputs, "labels": batch.labels}.items():
                digest.update(f"{name} {tuple(values.shape)}".encode())
                digest.update(values.cpu().contiguous().view(torch.uint8).numpy().tobytes())
        return digest.hexdigest()[:16]

    @cached_property
    def _costs(self) -> Costs:
        return Costs.of(self.head_model)

    def _loss_if_known(self, mask: HeadMask) -> float | None:
        """The loss, as computed alone or with others."""
        return next(
            (known[mask.removed] for known in (self._losses, self._shared_losses) if mask.removed in known), None
        )

    def _own(self, mask: HeadMask) -> HeadMask:
        if mask.grid != self.head_model.grid:
            raise ValueError(f"a mask for {mask.grid.describe()}; this model has {self.head_model.grid.describe()}")
        return mask.restore(*self.head_model.removed) if self.head_model.removed & mask.removed else mask

    def _seen(self, number: int, mask: HeadMask) -> Outcomes:
        batch = self.batches[number]
        if isinstance(self.task, Translation):
            with gated(self.head_model, mask.as_gates(self.head_model.device)):
                return self.task.seen(self.head_model, batch)
        columns = joined(self._taught.look(number, mask, partial(self.task.observe, self.head_model)))
        return Outcomes(self.task.key, batch.split, np.array(batch.indices), columns)

    def _compared(self, unpruned: Outcomes, outcomes: Outcomes) -> tuple[float, bool, str]:
        """The p-value, whether the second is significantly worse than the first, and the name of the test."""
        found = self.task.compare(unpruned, outcomes)
        fallen = found.difference < 0 if self.task.higher_is_better else found.difference > 0
        return found.p_value, fallen and found.p_value < SIGNIFICANT, found.test

    def _under(self, batch: Batch, masks: Sequence[HeadMask]) -> Float[Tensor, "mask row"]:
        """The losses of the rows under every mask; what all masks have in common is computed once."""
        found = done_in_parts(self.head_model, batch, partial(self._under_all, masks))
        return torch.cat(found, dim=1)

    def _under_all(self, masks: Sequence[HeadMask], batch: Batch) -> Float[Tensor, "mask row"]:
        gates = torch.stack([mask.as_gates() for mask in masks])
        if recorded_bytes(self.head_model, batch) > MEMORY:
            return torch.stack([self._plain(batch, one.to(self.head_model.device)) for one in gates])
        return MaskedLosses.of(self.head_model, self.task, batch, reduce(and_, masks).as_gates()).under(gates)

    @torch.no_grad()
    def _plain(self, batch: Batch, gates: Tensor) -> Float[Tensor, " row"]:
        may_pause()
        with gated(self.head_model, gates):
            return self.task.losses(self.head_model, batch)

    def _means(self, losses: Float[Tensor, "mask row"]) -> list[float]:
        """The mean over examples; rows of one example, such as the windows of a text, are averaged first."""
        examples = np.array([index for batch in self._taught.batches for index in batch.indices])
        _, numbers, sizes = np.unique(examples, return_inverse=True, return_counts=True)
        weights: NDArray[np.float64] = 1 / (sizes[numbers] * len(sizes))
        means: list[float] = (losses.cpu().double().numpy() @ weights).tolist()
        return means


class _Recent(OrderedDict[frozenset[HeadId], T], Generic[T]):
    """The `most` entries that were asked for last."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self.most = most

    def __setitem__(self, key: frozenset[HeadId], value: T) -> None:
        super().__setitem__(key, value)
        if len(self) > self.most:
            self.popitem(last=False)

    def __getitem__(self, key: frozenset[HeadId]) -> T:
        value = super().__getitem__(key)
        self.move_to_end(key)
        return value


def _returned(steps: Steps[T]) -> T:
    """What the work returns once all its steps are done."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            found: T = end.value
            return found
