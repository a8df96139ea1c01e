"""Importance by gradient: how much the loss of an example would change with the gate of a head."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from analysis.importance.method import Method, Values, Weights, register
from models.gating import gated
from models.head_model import HeadModel
from tasks.batching import Batch
from tasks.task import Task


@register
@dataclass(frozen=True)
class Gradient(Method):
    """Expected absolute derivative of the loss with respect to each gate.

    I_h = E_x |dL(x)/dg_h| at g = 1, Michel et al. 2019. The absolute value is taken of the derivative of each example
    alone, exact in one backward pass a batch. Differs: the paper normalises by layer; these scores are raw.
    """

    key = "gradient"
    title = "Gradient"
    reference = "Michel et al. 2019"
    about = "How much the loss of an example would change with the gate of the head."

    def of_batch(self, head_model: HeadModel, task: Task, batch: Batch) -> tuple[Values, Weights | None]:
        """The absolute derivative of every example."""
        return gate_gradients(head_model, task, batch).abs(), None


def gate_gradients(head_model: HeadModel, task: Task, batch: Batch) -> Float[Tensor, "example head"]:
    """dL(x)/dg_h at g = 1 of every example x and head h, by one backward pass; leaves no gradient behind."""
    gates = torch.ones(len(batch), len(head_model.grid), device=head_model.device, requires_grad=True)
    with gated(head_model, gates):
        loss = task.losses(head_model, batch).sum()
    (gradients,) = torch.autograd.grad(loss, gates)
    return gradients.detach()
