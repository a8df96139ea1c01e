"""Conductance from its definition, neuron by neuron, with derivatives of contexts by central differences."""

from __future__ import annotations

from contextlib import ExitStack

import numpy as np
import torch
from torch import Tensor, nn

from headscope.models.head_model import HeadModel
from headscope.models.heads import HeadId
from headscope.models.sites import Site
from headscope.tasks.batches.batching import Batch
from headscope.tasks.task import Task
from tests.reference.ablation import opened

STEP = 1e-4


def conductances(head_model: HeadModel, task: Task, example: Batch, points: int) -> dict[HeadId, float]:
    """-integral over a from 0 to 1 of the sum over the neurons z of a head of dL/dz dz/da, by Gauss and Legendre."""
    found = dict.fromkeys(head_model.grid, 0.0)
    nodes, weights = np.polynomial.legendre.leggauss(points)
    for node, weight in zip(nodes.tolist(), weights.tolist(), strict=True):
        opening = (1 + node) / 2
        _, slopes = contexts_and_slopes(head_model, task, example, opening)
        above, _ = contexts_and_slopes(head_model, task, example, opening + STEP)
        below, _ = contexts_and_slopes(head_model, task, example, opening - STEP)
        for site in head_model.sites:
            flow = -slopes[site] * (above[site] - below[site]) / (2 * STEP)
            for place, head in enumerate(site.kept):
                neurons = flow[..., place * site.width : (place + 1) * site.width]
                found[HeadId(site.bank, site.layer, head)] += weight / 2 * float(neurons.sum())
    return found


def contexts_and_slopes(
    head_model: HeadModel, task: Task, example: Batch, opening: float
) -> tuple[dict[Site, Tensor], dict[Site, Tensor]]:
    """The gated contexts of every layer with all gates at `opening`, and dL/dz there."""
    contexts: dict[Site, Tensor] = {}
    with ExitStack() as stack:
        stack.enter_context(opened(head_model, dict.fromkeys(head_model.grid, opening)))
        for site in head_model.sites:

            def keep(module: nn.Module, args: tuple[Tensor, ...], site: Site = site) -> None:
                del module
                contexts[site] = args[0]

            output = head_model.model.get_submodule(site.output)
            stack.callback(output.register_forward_pre_hook(keep).remove)
        losses = task.losses(head_model, example)
    slopes = torch.autograd.grad(losses.sum(), list(contexts.values()))
    return (
        {site: context.detach() for site, context in contexts.items()},
        dict(zip(contexts, slopes, strict=True)),
    )
