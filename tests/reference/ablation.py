"""Losses with heads shut or half open, one example at a time: no gates of ours, every pass from start to end."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial

import torch
from torch import Tensor, nn

from headscope.models.head_model import HeadModel
from headscope.models.heads import HeadId
from headscope.models.sites import Site
from headscope.tasks.batches.batching import Batch
from headscope.tasks.task import Task

Openings = Mapping[HeadId, float]


def loss(head_model: HeadModel, task: Task, example: Batch, openings: Openings) -> float:
    """L(x) where the output of each head is multiplied by its opening; heads that are not named stay open."""
    with torch.no_grad(), opened(head_model, openings):
        return float(task.losses(head_model, example))


def ablation(head_model: HeadModel, task: Task, example: Batch, head: HeadId) -> float:
    """L(x; g_h = 0) - L(x)."""
    return loss(head_model, task, example, {head: 0}) - loss(head_model, task, example, {})


def all_but_one(head_model: HeadModel, task: Task, example: Batch, head: HeadId) -> float:
    """L(x; layer empty) - L(x; layer keeps only h)."""
    layer = head_model.grid.layer(head.bank, head.layer)
    empty = loss(head_model, task, example, dict.fromkeys(layer, 0))
    alone = loss(head_model, task, example, {other: 0 for other in layer if other != head})
    return empty - alone


@contextmanager
def opened(head_model: HeadModel, openings: Openings) -> Iterator[None]:
    with ExitStack() as stack:
        for site in head_model.sites:
            output = head_model.model.get_submodule(site.output)
            stack.callback(output.register_forward_pre_hook(partial(_multiply, site, openings)).remove)
        yield


def _multiply(site: Site, openings: Openings, module: nn.Module, args: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    del module
    parts = []
    for place, head in enumerate(site.kept):
        part = args[0][..., place * site.width : (place + 1) * site.width]
        parts.append(part * openings.get(HeadId(site.bank, site.layer, head), 1.0))
    return (torch.cat(parts, dim=-1), *args[1:])
