"""What is measured on a specimen: its metrics, what random halves of its heads cost, gradient scores and curves."""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

import torch
from torch import Tensor

from headscope.models.gating import gated
from headscope.models.head_model import HeadModel
from headscope.models.heads import HeadId
from headscope.pruning.masks import HeadMask
from headscope.tasks.task import Task
from headscope.tasks.task_catalog import SPECIMEN_TASKS, task

RANDOM_SEEDS = range(5)
SHARES = tuple(tenth / 10 for tenth in range(10))


def task_of(head_model: HeadModel) -> Task:
    """The task of a specimen."""
    return task(SPECIMEN_TASKS[head_model.name])


def metrics(head_model: HeadModel, split: str, n: int | None = None) -> list[dict[str, Any]]:
    """Every metric of the specimen's task with its interval, the headline first."""
    judge = task_of(head_model)
    outcomes = judge.outcomes(head_model, split, n)
    return [asdict(estimate) | {"split": split} for estimate in judge.estimates(outcomes)]


def headline(head_model: HeadModel, removed: Iterable[HeadId], split: str, n: int | None = None) -> float:
    """The first metric with these heads switched off."""
    judge = task_of(head_model)
    with gated(head_model, HeadMask(head_model.grid, frozenset(removed)).as_gates()):
        return judge.metrics[0].estimate(judge.outcomes(head_model, split, n)).value


def random_halves(head_model: HeadModel, heads: list[HeadId], split: str, n: int | None = None) -> dict[str, Any]:
    """The headline metric with a random half of these heads gone, for five seeds, and with none gone."""
    whole = headline(head_model, (), split, n)
    halves = [
        headline(head_model, random.Random(seed).sample(heads, len(heads) // 2), split, n) for seed in RANDOM_SEEDS
    ]
    return {"whole": whole, "halves": halves, "mean": sum(halves) / len(halves), "split": split, "n": n}


def gradient_scores(head_model: HeadModel, split: str, n: int) -> Tensor:
    """E |dL/dg| for every head in the order of the grid: each example's own gradient, then the mean of their sizes."""
    judge = task_of(head_model)
    head_model.model.requires_grad_(False)
    total = torch.zeros(len(head_model.grid))
    count = 0
    for batch in judge.batches(head_model, split, n):
        gates = torch.ones(len(batch), len(head_model.grid), requires_grad=True)
        with gated(head_model, gates):
            loss = judge.losses(head_model, batch).sum()
        (gradient,) = torch.autograd.grad(loss, gates)
        total += gradient.abs().sum(0)
        count += len(batch)
    return total / count


def pruning_curve(head_model: HeadModel, scores: Tensor, split: str, n: int) -> list[float]:
    """The headline metric with 0, 10 … 90 % of the heads gone, those with the lowest scores first."""
    order = [head_model.grid.heads[int(place)] for place in scores.argsort()]
    return [headline(head_model, order[: round(share * len(order))], split, n) for share in SHARES]
