"""Importance by removing all but one: what a head can do without the others of its layer."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from headscope.analysis.importance.method import Method, Values, Weights, register
from headscope.models.head_model import HeadModel
from headscope.tasks.batches.batching import Batch
from headscope.tasks.batches.masked_losses import CPU, MaskedLosses, open_gates
from headscope.tasks.task import Task


@register
@dataclass(frozen=True)
class AllButOne(Method):
    """How much lower the loss is when the layer keeps this head alone than when it keeps none.

    I_h = E_x [L(x; layer empty) - L(x; layer keeps only h)], after Michel et al. 2019, who ask whether one head of a
    layer is enough. Differs: they compare L(x; only h) with the whole model, which is the same but for a number that
    all heads of a layer share; that number says how much the layer matters, and would put any head of a layer that does
    nothing before the one head that does all the work of another.
    """

    key = "all-but-one"
    title = "All but one"
    reference = "Michel et al. 2019; against the empty layer, which is ours"
    about = (
        "How much of the loss this head saves when it is the only one left in its layer; the other layers are whole."
    )
    signed = True

    def of_batch(self, head_model: HeadModel, task: Task, batch: Batch) -> tuple[Values, Weights | None]:
        """The loss with the layer empty, less that with the one head, for each head that is there."""
        found = MaskedLosses.of(head_model, task, batch)
        kept = [place for head, place in head_model.grid.positions.items() if head not in head_model.removed]
        empty, numbers = without_layers(head_model).unique(dim=0, return_inverse=True)
        alone = without_layers(head_model).fill_diagonal_(1)[kept]
        saved = found.under(empty)[numbers[kept]] - found.under(alone)
        values = torch.zeros(len(batch), len(head_model.grid), dtype=saved.dtype, device=saved.device)
        values[:, kept] = saved.T
        return values, None


def without_layers(head_model: HeadModel) -> Float[Tensor, "head gate"]:
    """For every head the gates that shut all heads of its layer."""
    gates = open_gates(head_model, len(head_model.grid), CPU)
    layers = [(head.bank, head.layer) for head in head_model.grid]
    for place, layer in enumerate(layers):
        gates[place, [other for other, own in enumerate(layers) if own == layer]] = 0
    return gates
