"""Importance by Fisher information: the expected square of the derivative of the loss by the gate of a head."""

from __future__ import annotations

from dataclasses import dataclass

from headscope.analysis.importance.method import Method, Values, Weights, register
from headscope.analysis.importance.methods.gradient import gate_gradients
from headscope.models.head_model import HeadModel
from headscope.tasks.batches.batching import Batch
from headscope.tasks.task import Task


@register
@dataclass(frozen=True)
class Fisher(Method):
    """The diagonal of the empirical Fisher information of the gates, I_h = E_x (dL(x)/dg_h)^2, Kwon et al. 2022.

    Differs: their code squares the derivative of mini-batches of 32, in which examples cancel; here every example is
    squared alone. Their rearrangement within a layer and their rescaling of the heads that stay are no part of a score.
    """

    key = "fisher"
    title = "Fisher information"
    reference = "Kwon et al. 2022"
    about = "The squared change of the loss of an example with the gate of the head: few large changes count most."

    def of_batch(self, head_model: HeadModel, task: Task, batch: Batch) -> tuple[Values, Weights | None]:
        """The squared derivative of every example."""
        return gate_gradients(head_model, task, batch).square(), None
