"""Derivatives of the loss by a gate, by central differences: no autograd, no gates of ours, one example at a time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from headscope.models.head_model import HeadModel
from headscope.models.heads import HeadId
from headscope.tasks.batches.batching import Batch
from headscope.tasks.task import Task

STEP = 1e-2


def derivative(head_model: HeadModel, task: Task, example: Batch, head: HeadId, position: int | None = None) -> float:
    """dL/dg at g = 1, where g multiplies the output of the head everywhere or at one position, to fourth order in s.

    (8 (L(1 + s) - L(1 - s)) - (L(1 + 2s) - L(1 - 2s))) / 12s.
    """

    def loss(gate: float) -> float:
        with torch.no_grad(), multiplied(head_model, head, gate, position):
            return float(task.losses(head_model, example))

    near, far = (loss(1 + step) - loss(1 - step) for step in (STEP, 2 * STEP))
    return (8 * near - far) / (12 * STEP)


def n_positions(head_model: HeadModel, task: Task, example: Batch, head: HeadId) -> int:
    """How many positions the head writes to."""
    seen: list[int] = []
    site = head_model.site(head.bank, head.layer)
    output = head_model.model.get_submodule(site.output)
    handle = output.register_forward_pre_hook(lambda _, args: seen.append(args[0].shape[1]))
    with torch.no_grad():
        task.losses(head_model, example)
    handle.remove()
    return seen[0]


@contextmanager
def multiplied(head_model: HeadModel, head: HeadId, gate: float, position: int | None) -> Iterator[None]:
    site = head_model.site(head.bank, head.layer)
    first = site.kept.index(head.head) * site.width
    positions = slice(None) if position is None else position

    def multiply(module: nn.Module, args: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        del module
        context = args[0].clone()
        context[:, positions, first : first + site.width] *= gate
        return (context, *args[1:])

    handle = head_model.model.get_submodule(site.output).register_forward_pre_hook(multiply)
    try:
        yield
    finally:
        handle.remove()
