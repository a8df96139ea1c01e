"""The integral of the derivative by each gate, by Simpson's rule and central differences, one example at a time."""

from __future__ import annotations

from headscope.models.head_model import HeadModel
from headscope.models.heads import HeadId
from headscope.tasks.batches.batching import Batch
from headscope.tasks.task import Task
from tests.reference.ablation import loss

STEP = 1e-4


def integrated_gradient(head_model: HeadModel, task: Task, example: Batch, head: HeadId, parts: int) -> float:
    """-integral over a from 0 to 1 of dL/dg_h at g = (a, ..., a); `parts` is even."""
    derivatives = [derivative(head_model, task, example, head, number / parts) for number in range(parts + 1)]
    weights = [1, *[4, 2] * (parts // 2 - 1), 4, 1]
    return -sum(weight * found for weight, found in zip(weights, derivatives, strict=True)) / (3 * parts)


def derivative(head_model: HeadModel, task: Task, example: Batch, head: HeadId, opening: float) -> float:
    """dL/dg_h at g = (a, ..., a)."""
    others = dict.fromkeys(head_model.grid, opening)
    above, below = (loss(head_model, task, example, others | {head: opening + step}) for step in (STEP, -STEP))
    return (above - below) / (2 * STEP)
