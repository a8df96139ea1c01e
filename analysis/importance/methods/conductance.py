"""Importance by conductance: the loss that is saved through each head while all gates open together."""

from __future__ import annotations

from dataclasses import dataclass, field

import torch
from torch import Tensor

from headscope.analysis.importance.method import Method, OfLayer, Values, Weights, on_grid, register
from headscope.analysis.importance.methods.integrated_gradients import savings
from headscope.models.head_model import HeadModel
from headscope.models.recording.head_outputs import Context, watching_contexts
from headscope.models.sites import Site
from headscope.tasks.batches.batching import Batch
from headscope.tasks.batches.masked_losses import open_gates
from headscope.tasks.task import Task


@register
@dataclass(frozen=True)
class Conductance(Method):
    """How much of what all heads together save of the loss flows through what this head hands on.

    All gates go from 0 to 1 together, g = (a, ..., a), as for `IntegratedGradients`. With z_h the gated context of the
    head, at all positions t and columns d, at the input of the output projection:
    I_h = E_x [-integral over a from 0 to 1 of sum over t, d of dL(x)/dz_htd dz_htd/da].
    This is the conductance of Dhamdhere et al. 2019 with gates as the input and a head as a group of neurons. Where
    integrated gradients count only the head's own gate, this also counts what heads before it send through it: both are
    the same in the first layer, and the heads of several layers do not add up, for each layer counts what passes it.

    The integral is a sum over steps of mean dL/dz times the difference of z. Differs from captum's LayerConductance: it
    takes dL/dz at the beginning of each step, and runs all passes again for every layer; here all layers share them.
    """

    key = "conductance"
    title = "Conductance"
    reference = "Dhamdhere et al. 2019, on gates"
    about = "How much of the loss is saved through the head, by itself or by what earlier heads send through it."
    signed = True

    steps: int = field(default=64, metadata={"about": "Steps in which the gates open."})

    def __post_init__(self) -> None:
        if self.steps < 1:
            raise ValueError(f"{self.steps} steps; at least 1 is needed")

    def of_batch(self, head_model: HeadModel, task: Task, batch: Batch) -> tuple[Values, Weights | None]:
        """The integral of every example and head."""
        layers: dict[Site, OfLayer] = {}
        before = _slopes(head_model, task, batch, 0.0)
        for step in range(1, self.steps + 1):
            after = _slopes(head_model, task, batch, step / self.steps)
            for (context, slope), (earlier, earlier_slope) in zip(after, before, strict=True):
                flow = (slope + earlier_slope) / 2 * (context.values - earlier.values)
                added = context.by_head(flow).sum(dim=1)
                layers[context.site] = layers[context.site] + added if context.site in layers else added
            before = after
        return on_grid(head_model, batch, layers), None


def _slopes(head_model: HeadModel, task: Task, batch: Batch, opening: float) -> list[tuple[Context, Tensor]]:
    """The context of every layer with all gates as far open, and the derivative of the negative loss by it."""
    gates = (opening * open_gates(head_model, len(batch))).requires_grad_()
    with watching_contexts(head_model) as contexts:
        saved = savings(head_model, task, batch, gates)
    values = [context.values for context in contexts]
    slopes = torch.autograd.grad(saved.sum(), values, materialize_grads=True) if values else ()
    return [
        (Context(context.site, context.values.detach()), slope) for context, slope in zip(contexts, slopes, strict=True)
    ]
