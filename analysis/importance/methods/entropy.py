"""Importance by entropy: how narrowly a head looks."""

from __future__ import annotations

from dataclasses import dataclass

from headscope.analysis.importance.method import Method, Values, Weights, register
from headscope.analysis.importance.query_means import Visible, query_means
from headscope.models.head_model import HeadModel
from headscope.models.recording.attention_statistics import Attention, PerQuery, ValidQueries, entropies
from headscope.tasks.batches.batching import Batch
from headscope.tasks.task import Task


@register
@dataclass(frozen=True)
class Entropy(Method):
    """1 minus the entropy of attention over the largest it could be: I_h = E_i [1 - H(a_i / S_i) / log K_i].

    H is in nats, after Clark et al. 2019; i goes over tokens, S_i is the weight on the K_i keys that count, those
    before i in a decoder. Padding, special tokens and the class token of an image are neither queries nor keys. That a
    low entropy is put as a high score, and its scale from 0 (all keys alike) to 1 (one key), are ours. A query that
    can see a single key has no choice, and is left out.
    """

    key = "entropy"
    title = "Focus (low entropy)"
    reference = "Clark et al. 2019; the scale is ours"
    about = "How narrowly the head looks: 1 at one token, 0 at all alike. A focused head need not be an important one."

    def of_batch(self, head_model: HeadModel, task: Task, batch: Batch) -> tuple[Values, Weights | None]:
        """The mean over the tokens of every example, which weighs as many as there are."""
        del task
        return query_means(head_model, batch, focus)


def focus(weights: Attention, visible: Visible) -> tuple[PerQuery, ValidQueries]:
    """1 - H / log K of every query that can see two keys or more."""
    most = visible.clamp(min=2).to(weights.dtype).log()
    return 1 - entropies(weights) / most[:, None, :], visible > 1
