"""Importance by ablation: what is lost without a head."""

from __future__ import annotations

from dataclasses import dataclass

from headscope.analysis.importance.method import Method, Values, Weights, register
from headscope.models.head_model import HeadModel
from headscope.tasks.batches.batching import Batch
from headscope.tasks.batches.masked_losses import CPU, MaskedLosses, open_gates
from headscope.tasks.task import Task


@register
@dataclass(frozen=True)
class Ablation(Method):
    """How much the loss rises without the head, all others in place: I_h = E_x [L(x; g_h = 0) - L(x)].

    The single-head ablation of Michel et al. 2019. Differs: they report the metric of the task, here it is its loss,
    which tells heads apart on far fewer examples. Exact: one pass a head, each from the layer of the head on.
    """

    key = "ablation"
    title = "Ablation"
    reference = "Michel et al. 2019"
    about = "How much the loss rises when this head alone is removed; below 0 the model is better without it."
    signed = True

    def of_batch(self, head_model: HeadModel, task: Task, batch: Batch) -> tuple[Values, Weights | None]:
        """The loss without each head, less that of the whole model."""
        found = MaskedLosses.of(head_model, task, batch)
        masks = open_gates(head_model, len(head_model.grid), CPU).fill_diagonal_(0)
        return (found.under(masks) - found.losses).T, None
