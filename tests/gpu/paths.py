"""What is run on a device: the paths of the library that compute there."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from headscope.analysis.importance.methods.gradient import gate_gradients, token_gradients
from headscope.analysis.importance.methods.wanda import Wanda
from headscope.models.gating import gated
from headscope.models.head_model import HeadModel
from headscope.pruning.surgery import without_heads
from headscope.pruning.training.fine_tuning import FineTuning
from headscope.pruning.training.gate_training import GateTraining, Plan
from headscope.pruning.training.gates.l0 import L0
from headscope.pruning.training.rescaling import Sums, folded
from headscope.pruning.training.settings import Settings
from headscope.tasks.batches.masked_losses import MaskedLosses, open_gates
from tests.gpu.subjects import Subject


def gates(subject: Subject) -> Tensor:
    """The losses of a batch under a mask."""
    with torch.no_grad(), gated(subject.head_model, subject.mask.as_gates(subject.head_model.device)):
        return subject.task.losses(subject.head_model, subject.batch)


def gates_by_row(subject: Subject) -> Tensor:
    """The same with gates for every example."""
    rows = open_gates(subject.head_model, len(subject.batch)) * subject.mask.as_gates(subject.head_model.device)
    with torch.no_grad(), gated(subject.head_model, rows):
        return subject.task.losses(subject.head_model, subject.batch)


def scores(subject: Subject) -> Tensor:
    """The derivatives of every example by every gate."""
    return gate_gradients(subject.head_model, subject.task, subject.batch)


def loudness(subject: Subject) -> Tensor:
    """Weight times activation, which every layer gives a part of."""
    values, _ = Wanda().of_batch(subject.head_model, subject.task, subject.batch)
    return values


def surgery(subject: Subject) -> Tensor:
    """The losses of the really smaller model."""
    smaller = without_heads(subject.head_model, subject.mask)
    with torch.no_grad():
        return subject.task.losses(smaller, subject.batch)


def rescaling(subject: Subject) -> Tensor:
    """The normal equations of the last layer."""
    sums = Sums.empty(subject.head_model.sites[-1], subject.head_model)
    sums.add_batch(subject.head_model, subject.batch, subject.mask.as_gates(subject.head_model.device))
    return sums.among_heads


def folding(subject: Subject) -> Tensor:
    """The losses of the smaller model with scales in its output projections."""
    scales = 1.5 * subject.mask.as_gates(subject.head_model.device)
    with torch.no_grad():
        return subject.task.losses(folded(subject.head_model, subject.mask, scales), subject.batch)


def without_dropout(head_model: HeadModel) -> HeadModel:
    """The same model, in which nothing is dropped: devices draw other random numbers."""
    for module in head_model.model.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
    return head_model


def training(subject: Subject) -> Tensor:
    """All weights of the smaller model after a few steps."""
    smaller = without_heads(subject.head_model, subject.mask)
    tuning = FineTuning(without_dropout(smaller), subject.task, Settings(steps=10, batch=4, rate=1e-3))
    for _ in range(3):
        tuning.train_step()
    return torch.cat([parameter.detach().flatten() for parameter in tuning.parameters])


def masked_losses(subject: Subject) -> Tensor:
    """The losses of a batch without each head alone, several masks at a time, from the layer of the head on."""
    masks = 1 - torch.eye(len(subject.head_model.grid))
    reference = subject.mask.as_gates()
    return MaskedLosses.of(subject.head_model, subject.task, subject.batch, reference).under(masks * reference)


def learning_gates(subject: Subject) -> Tensor:
    """The numbers behind the gates after a few steps of gates and weights."""
    plan = Plan(L0(), Settings(steps=10, batch=4, rate=1e-3))
    learning = GateTraining(without_dropout(subject.head_model), subject.task, plan)
    for _ in range(3):
        learning.train_step()
    return learning.learner.numbers.detach()


PATHS: dict[str, Callable[[Subject], Tensor]] = {
    "gates": gates,
    "gates by row": gates_by_row,
    "scores": scores,
    "scores by token": lambda subject: token_gradients(subject.head_model, subject.task, subject.batch),
    "loudness": loudness,
    "surgery": surgery,
    "rescaling": rescaling,
    "folding": folding,
    "training": training,
    "masked losses": masked_losses,
    "learning gates": learning_gates,
}
