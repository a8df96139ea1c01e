"""Importance by Taylor expansion: what removing a head would do to the loss, to first order and with its sign."""

from __future__ import annotations

from dataclasses import dataclass

from headscope.analysis.importance.method import Method, Values, Weights, register
from headscope.analysis.importance.methods.gradient import gate_gradients
from headscope.models.head_model import HeadModel
from headscope.tasks.batches.batching import Batch
from headscope.tasks.task import Task


@register
@dataclass(frozen=True)
class Taylor(Method):
    """The first-order estimate of how much the loss rises when the gate goes from 1 to 0: I_h = -E_x dL(x)/dg_h.

    Molchanov et al. 2017 expand the loss around a removed part and take the absolute value; here the sign stays, so a
    head below 0 seems to do harm. The same number is attribution patching against a head that says nothing.
    """

    key = "taylor"
    title = "Taylor, signed"
    reference = "Molchanov et al. 2017, with the sign kept"
    about = "How much the loss would rise without the head, to first order; below 0 the head seems to do harm."
    signed = True

    def of_batch(self, head_model: HeadModel, task: Task, batch: Batch) -> tuple[Values, Weights | None]:
        """The negative derivative of every example."""
        return -gate_gradients(head_model, task, batch), None
