"""Importance by gradient: how much the loss of an example would change with the gate of a head."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from headscope.analysis.importance.method import (
    Array,
    Method,
    OfLayer,
    Values,
    Weights,
    on_grid,
    register,
    weighted_mean,
)
from headscope.analysis.importance.scores import Scores, levelled
from headscope.models.gating import gated
from headscope.models.head_model import HeadModel
from headscope.models.heads import HeadGrid
from headscope.models.recording.head_outputs import PerPosition, watching_contexts
from headscope.models.sites import Site
from headscope.tasks.batches.batching import Batch
from headscope.tasks.task import Task


@register
@dataclass(frozen=True)
class Gradient(Method):
    """Expected absolute derivative of the loss with respect to each gate, at g = 1, Michel et al. 2019.

    Three estimators go by that name; they differ in where the absolute value is taken:
    - example, I_h = E_x |dL(x)/dg_h|: the formula as printed, exact in one backward pass a batch;
    - token, I_h = E_x sum_t |dL(x)/dg_ht| with a gate for every position t: the authors' code. Differs: that divides by
      the number of tokens, and in the last layer of BERT by that of examples; with scores by layer both cancel;
    - batch, I_h = E_B |mean over x in B of dL(x)/dg_h|: later code, in which the examples of a batch B cancel. Differs:
      B are `group` neighbours in the split, whatever the batches in which they were computed.
    The paper gives scores by layer.
    """

    key = "gradient"
    title = "Gradient"
    reference = "Michel et al. 2019"
    about = "How much the loss of an example would change with the gate of the head."

    estimator: Literal["example", "token", "batch"] = field(
        default="example", metadata={"about": "Of what the absolute value is taken before the mean."}
    )
    scale: Literal["raw", "layer"] = field(
        default="raw", metadata={"about": "Layer: every layer is divided by its L2 norm, as in the paper."}
    )
    group: int = field(default=32, metadata={"about": "For batch: how many examples cancel against each other."})

    def __post_init__(self) -> None:
        if self.group < 1:
            raise ValueError(f"groups of {self.group} examples; at least 1 is needed")

    def of_batch(self, head_model: HeadModel, task: Task, batch: Batch) -> tuple[Values, Weights | None]:
        """The absolute derivatives of every example; for batches the derivatives as they are."""
        if self.estimator == "token":
            return token_gradients(head_model, task, batch), None
        gradients = gate_gradients(head_model, task, batch)
        return gradients if self.estimator == "batch" else gradients.abs(), None

    def reduced(self, grid: HeadGrid, values: Array, weights: Array) -> Scores:
        """The mean over examples, or over groups of them, as it is or by layer."""
        if self.estimator == "batch":
            scores = replace(weighted_mean(grid, *grouped(values, weights, self.group)), n=len(values))
        else:
            scores = weighted_mean(grid, values, weights)
        return scores if self.scale == "raw" else levelled(scores, grid)


def gate_gradients(head_model: HeadModel, task: Task, batch: Batch) -> Float[Tensor, "example head"]:
    """dL(x)/dg_h at g = 1 of every example x and head h, by one backward pass; leaves no gradient behind."""
    dtype = torch.promote_types(head_model.model.dtype, torch.float32)
    gates = torch.ones(len(batch), len(head_model.grid), dtype=dtype, device=head_model.device, requires_grad=True)
    with gated(head_model, gates):
        loss = task.losses(head_model, batch).sum()
    return _derivatives(loss, [gates])[0]


def token_gradients(head_model: HeadModel, task: Task, batch: Batch) -> Float[Tensor, "example head"]:
    """The sum over positions t of |dL(x)/dg_ht|, of every example x and head h."""
    layers = position_gradients(head_model, task, batch)
    summed: dict[Site, OfLayer] = {site: gradients.abs().sum(dim=1) for site, gradients in layers.items()}
    return on_grid(head_model, batch, summed)


def position_gradients(head_model: HeadModel, task: Task, batch: Batch) -> dict[Site, PerPosition]:
    """The derivative by a gate that every position of every head would have: context times gradient, by layer.

    Summed over positions it is `gate_gradients`. A layer that runs several times uses its gates each time.
    """
    with watching_contexts(head_model) as contexts:
        loss = task.losses(head_model, batch).sum()
    gradients = _derivatives(loss, [context.values for context in contexts])
    found: dict[Site, PerPosition] = {}
    for context, gradient in zip(contexts, gradients, strict=True):
        products = context.by_head(context.values.detach() * gradient)
        found[context.site] = found[context.site] + products if context.site in found else products
    return found


def _derivatives(loss: Tensor, tensors: Sequence[Tensor]) -> Sequence[Tensor]:
    """The derivatives of the loss, 0 where it does not depend on a tensor: other removed heads may cut it off."""
    if not tensors or not loss.requires_grad:
        return [torch.zeros_like(tensor) for tensor in tensors]
    return torch.autograd.grad(loss, tensors, materialize_grads=True)


def grouped(values: Array, weights: Array, size: int) -> tuple[Array, Array]:
    """|weighted mean| of every `size` rows that follow each other, and what they weigh; the last may be fewer."""
    starts = np.arange(0, len(values), size)
    summed = np.add.reduceat(weights, starts)
    means = np.add.reduceat(weights[:, None] * values, starts) / summed[:, None]
    return np.abs(means), summed
