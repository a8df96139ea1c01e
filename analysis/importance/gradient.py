"""Importance by gradient: how much the loss of an example would change with the gate of a head."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from models.gating import gated
from models.head_model import HeadModel
from models.heads import HeadId
from tasks.task import Task


@dataclass(frozen=True)
class Scores:
    """One number a head, higher is more important, with its standard error over n examples."""

    values: dict[HeadId, float]
    errors: dict[HeadId, float]
    n: int


def gradient_scores(head_model: HeadModel, task: Task, split: str = "calibration", n: int | None = None) -> Scores:
    """Expected absolute derivative of the loss with respect to each gate.

    I_h = E_x |dL(x)/dg_h| at g = 1, Michel et al. 2019. The absolute value is taken of the derivative of each example
    alone, exact in one backward pass a batch. Differs: the paper normalises by layer; these scores are raw.
    """
    total = torch.zeros(len(head_model.grid), dtype=torch.float64)
    squares = torch.zeros_like(total)
    examples = 0
    for batch in task.batches(head_model, split, n):
        rows = len(batch.indices)
        gates = torch.ones(rows, len(head_model.grid), device=head_model.device, requires_grad=True)
        with gated(head_model, gates):
            loss = task.losses(head_model, batch).sum()
        (derivative,) = torch.autograd.grad(loss, gates)
        size = derivative.detach().abs().double().cpu()  # one transfer a batch
        total += size.sum(0)
        squares += size.square().sum(0)
        examples += rows
    if not examples:
        raise ValueError(f"{task.title}: no example of {split} to score heads on")
    mean = total / examples
    variance = (squares / examples - mean.square()).clamp_min(0) * examples / max(1, examples - 1)
    error = (variance / examples).sqrt()
    heads = head_model.grid.heads
    return Scores(dict(zip(heads, mean.tolist(), strict=True)), dict(zip(heads, error.tolist(), strict=True)), examples)
