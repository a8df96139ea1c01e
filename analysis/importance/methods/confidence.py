"""Importance by confidence: how sure a head is of where it looks."""

from __future__ import annotations

from dataclasses import dataclass

from headscope.analysis.importance.method import Method, Values, Weights, register
from headscope.analysis.importance.query_means import Visible, query_means
from headscope.models.head_model import HeadModel
from headscope.models.recording.attention_statistics import Attention, PerQuery, ValidQueries
from headscope.tasks.batches.batching import Batch
from headscope.tasks.task import Task


@register
@dataclass(frozen=True)
class Confidence(Method):
    """The mean over tokens of the largest attention weight, C_h = E_i max_j a_ij, Voita et al. 2019.

    Weights are not renormalised when keys are left out. Differs: the paper leaves out the end of a sentence as a key;
    here padding and all special tokens, and the class token of an image, are neither keys nor queries, for many heads
    rest on them. The task only says which examples are read: no label is.
    """

    key = "confidence"
    title = "Confidence"
    reference = "Voita et al. 2019"
    about = "The largest attention weight of a token, on average; how the head looks, not what the model makes of it."

    def of_batch(self, head_model: HeadModel, task: Task, batch: Batch) -> tuple[Values, Weights | None]:
        """The mean over the tokens of every example, which weighs as many as there are."""
        del task
        return query_means(head_model, batch, largest_weights)


def largest_weights(weights: Attention, visible: Visible) -> tuple[PerQuery, ValidQueries]:
    """max_j a_ij of every query i that can see a key."""
    return weights.amax(dim=-1), visible > 0
