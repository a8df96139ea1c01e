"""Importance by integrated gradients: the loss that each head saves while all gates open together."""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
from jaxtyping import Float
from torch import Tensor

from headscope.analysis.importance.method import Method, Portion, Values, Weights, register
from headscope.models.head_model import HeadModel
from headscope.tasks.batches.batching import Batch
from headscope.tasks.batches.masked_losses import losses_of_copies, masks_at_once, open_gates, picked
from headscope.tasks.task import PerExample, Task

COMPLETE = 1e-3
"""How far the heads of an example may miss what they save together, as a share of it."""

NOISE = 1e-6
"""The same as a share of the losses themselves, which is all that single precision gives."""

MOST_STEPS = 1024


@register
@dataclass(frozen=True)
class IntegratedGradients(Method):
    """The derivative of the loss by the gate of the head, integrated while all gates go from 0 to 1 together.

    I_h = E_x [-integral over a from 0 to 1 of dL(x)/dg_h at g = (a, ..., a)], Sundararajan et al. 2017 with gates as
    the input and no heads as the baseline. The heads of an example add up to L(no heads) - L(all heads), which is
    called completeness; `Gradient` and `Taylor` look only at a = 1.

    By captum, with the points of Gauss and Legendre. An example whose sum is not complete to COMPLETE is integrated
    again with twice the points, up to MOST_STEPS: models with kinks, such as those of ReLU, need many. One that is not
    complete even then keeps its values, and a run says how far they miss.
    """

    key = "integrated-gradients"
    title = "Integrated gradients"
    reference = "Sundararajan et al. 2017, on gates"
    about = "The share of the head in what all heads together save of the loss, as their gates open at the same pace."
    signed = True

    steps: int = field(default=32, metadata={"about": "Points of the path that are tried first; more where needed."})

    def __post_init__(self) -> None:
        if not 1 <= self.steps <= MOST_STEPS:
            raise ValueError(f"{self.steps} steps; allowed are 1 to {MOST_STEPS}")

    def of_batch(self, head_model: HeadModel, task: Task, batch: Batch) -> tuple[Values, Weights | None]:
        """The integral of every example and head."""
        values = integrals(head_model, task, batch, self.steps)
        left, steps = gaps(head_model, task, batch, values).nonzero().flatten(), 2 * self.steps
        while len(left) and steps <= MOST_STEPS:
            rows = picked(batch, left)
            values[left] = integrals(head_model, task, rows, steps)
            left, steps = left[gaps(head_model, task, rows, values[left]) > 0], 2 * steps
        return values, None

    def missed(self, head_model: HeadModel, task: Task, batch: Batch, values: Values) -> Weights | None:
        """How far the heads of each example miss what they save together, even with the most points."""
        return gaps(head_model, task, batch, values)

    def balance(self, head_model: HeadModel, task: Task, batch: Batch, found: Portion) -> dict[str, float]:
        """What all heads together save, and what their values add up to."""
        return completeness(head_model, task, batch, found)


@torch.no_grad()
def completeness(head_model: HeadModel, task: Task, batch: Batch, found: Portion) -> dict[str, float]:
    """L(no heads) - L(all heads), as the mean of the batch, and the sum of what was given to the heads."""
    opened = open_gates(head_model, len(batch))
    whole, bare = (savings(head_model, task, batch, gates) for gates in (opened, torch.zeros_like(opened)))
    return {"what all heads save": float((whole - bare).mean()), "their scores": float(found.values.sum(1).mean())}


def integrals(head_model: HeadModel, task: Task, batch: Batch, steps: int) -> Values:
    """The integral of every example and head, from so many points."""
    from captum import attr  # it takes seconds, and brings matplotlib

    found: Tensor = attr.IntegratedGradients(lambda gates: savings(head_model, task, batch, gates)).attribute(
        open_gates(head_model, len(batch)),
        n_steps=steps,
        internal_batch_size=len(batch) * masks_at_once(head_model, task, batch),
    )
    return found


@torch.no_grad()
def gaps(head_model: HeadModel, task: Task, batch: Batch, values: Values) -> PerExample:
    """How far the values of each example miss what all heads together save, as a share of it; 0 if within bounds.

    The share is of the larger of both, for heads may save nothing together.
    """
    opened = open_gates(head_model, len(batch))
    whole, bare = (savings(head_model, task, batch, gates) for gates in (opened, torch.zeros_like(opened)))
    saved = whole - bare
    given = values.sum(dim=1)
    missed = (given - saved).abs()
    bounds = COMPLETE * saved.abs() + NOISE * (whole.abs() + bare.abs())
    found: Tensor = torch.where(missed > bounds, missed / torch.maximum(saved.abs(), given.abs()), 0.0)
    return found


def savings(head_model: HeadModel, task: Task, batch: Batch, gates: Float[Tensor, "row head"]) -> Float[Tensor, " row"]:
    """The negative losses of copies of the batch; never without a derivative by the gates, though it may be 0."""
    losses: Tensor = losses_of_copies(head_model, task, batch, gates)
    return 0 * gates.sum(dim=1).to(losses.dtype) - losses
