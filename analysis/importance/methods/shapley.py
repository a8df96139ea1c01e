"""Importance by Shapley values: the mean loss that a head saves, over the orders in which heads can be added."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from headscope.analysis.importance.method import Method, Portion, Values, Weights, register
from headscope.analysis.importance.methods.integrated_gradients import completeness, savings
from headscope.models.head_model import HeadModel
from headscope.tasks.batches.batching import Batch
from headscope.tasks.batches.masked_losses import masks_at_once, open_gates
from headscope.tasks.task import Task


@register
@dataclass(frozen=True)
class Shapley(Method):
    """What a head saves of the loss when it is added to a model without heads, as the mean over random orders.

    I_h = E_x E_order [L(x; heads before h) - L(x; heads before h, and h)], the Shapley value of Castro et al. 2009 by
    sampling, for heads after Held and Yang 2023. Whatever the number of orders, the heads of an example add up to
    L(no heads) - L(all heads). By captum; it costs one pass a head and order.

    Every example has orders of its own: captum draws them for numbers that stand for heads, and which number stands for
    which head is drawn for each example. All of it depends on the seed and the number of the example alone.
    """

    key = "shapley"
    title = "Shapley values"
    reference = "Held and Yang 2023, by sampling (Castro et al. 2009)"
    about = "How much of the loss the head saves when heads are added one by one, on average over random orders."
    signed = True

    samples: int = field(default=8, metadata={"about": "Orders in which heads are added, for each example."})
    seed: int = field(default=0, metadata={"about": "Another seed draws other orders."})

    def __post_init__(self) -> None:
        if self.samples < 1:
            raise ValueError(f"{self.samples} samples; at least 1 is needed")

    def of_batch(self, head_model: HeadModel, task: Task, batch: Batch) -> tuple[Values, Weights | None]:
        """The mean over orders of what each head saves; captum adds it up in single precision."""
        from captum import attr  # it takes seconds, and brings matplotlib

        opened = open_gates(head_model, len(batch))
        kept = [place for head, place in head_model.grid.positions.items() if head not in head_model.removed]
        values = torch.zeros_like(opened)
        if kept:
            sampler = attr.ShapleyValueSampling(
                lambda rows: savings(head_model, task, batch, _all_gates(rows, kept, len(head_model.grid)))
            )
            sampler.permutation_generator = self._orders
            values[:, kept] = sampler.attribute(
                opened[:, kept],
                feature_mask=self._numbers(batch, len(kept)).to(opened.device),
                n_samples=self.samples,
                perturbations_per_eval=masks_at_once(head_model, task, batch),
            ).to(values)
        return values, None

    def balance(self, head_model: HeadModel, task: Task, batch: Batch, found: Portion) -> dict[str, float]:
        """What all heads together save, and what their values add up to."""
        return completeness(head_model, task, batch, found)

    def _orders(self, n_numbers: int, n_samples: int) -> Iterator[list[int]]:
        """Orders of numbers, in captum's stead: it would draw from a generator that belongs to all."""
        generator = np.random.default_rng(self.seed)
        for _ in range(n_samples):
            yield generator.permutation(n_numbers).tolist()

    def _numbers(self, batch: Batch, n_heads: int) -> Int[Tensor, "example head"]:
        """For every example the numbers that stand for its heads."""
        drawn = [np.random.default_rng([self.seed, index]).permutation(n_heads) for index in batch.indices]
        return torch.tensor(np.array(drawn))


def _all_gates(rows: Float[Tensor, "row kept"], kept: Sequence[int], n_heads: int) -> Float[Tensor, "row head"]:
    """Gates of the heads that are there, among those of all heads."""
    gates = rows.new_ones(len(rows), n_heads)
    gates[:, kept] = rows
    return gates
