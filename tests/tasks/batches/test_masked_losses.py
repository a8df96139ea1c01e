from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import Tensor

from headscope.models.gating import gated
from headscope.models.head_model import HeadModel
from headscope.tasks.batches.batching import Batch
from headscope.tasks.batches.masked_losses import (
    MaskedLosses,
    losses_of_copies,
    masks_at_once,
    open_gates,
    picked,
    repeated,
)
from headscope.tasks.task import Task
from tests.analysis.subjects import CLASSIFICATION, KINDS, subject
from tests.tasks.tiny import tiny

EVERY_KIND = pytest.mark.parametrize("kind", KINDS)


def first_batch(head_model: HeadModel, task: Task, n: int = 4) -> Batch:
    return next(iter(task.batches(head_model, "calibration", n)))


def one_by_one(head_model: HeadModel, task: Task, batch: Batch, masks: Tensor) -> Tensor:
    found = []
    for mask in masks:
        with torch.no_grad(), gated(head_model, mask):
            found.append(task.losses(head_model, batch))
    return torch.stack(found)


def random_masks(head_model: HeadModel, n: int) -> Tensor:
    generator = torch.Generator().manual_seed(1)
    return torch.rand(n, len(head_model.grid), generator=generator, dtype=torch.float64)


@EVERY_KIND
@pytest.mark.parametrize("at_once", [1, 3, 100])
def test_losses_are_those_of_whole_passes_whatever_the_masks_and_their_number(
    kind: str, at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    head_model, task = subject(kind)
    batch = first_batch(head_model, task)
    monkeypatch.setattr("headscope.tasks.batches.masked_losses.masks_at_once", lambda *_: at_once)
    without_one = 1 - torch.eye(len(head_model.grid), dtype=torch.float64)
    masks = torch.cat([without_one, torch.ones_like(without_one[:1]), random_masks(head_model, 2)])
    masks = masks[torch.randperm(len(masks), generator=torch.Generator().manual_seed(0))]
    expected = one_by_one(head_model, task, batch, masks)
    assert len(expected[:, 0].unique()) == len(masks)
    found = MaskedLosses.of(head_model, task, batch).under(masks)
    if at_once == 1:
        assert torch.equal(found, expected)
    torch.testing.assert_close(found, expected, rtol=1e-10, atol=1e-12)


def test_masks_may_be_near_any_reference() -> None:
    head_model, task = subject("seq2seq")
    batch = first_batch(head_model, task)
    reference = (random_masks(head_model, 1)[0] > 0.5).double()
    masks = reference.repeat(len(reference), 1)
    masks.diagonal().copy_(1 - reference)
    found = MaskedLosses.of(head_model, task, batch, reference)
    torch.testing.assert_close(found.losses, one_by_one(head_model, task, batch, reference[None])[0])
    expected = one_by_one(head_model, task, batch, masks)
    torch.testing.assert_close(found.under(masks), expected, rtol=1e-10, atol=1e-12)


def test_a_layer_that_all_others_share_is_computed_anew_and_right() -> None:
    head_model = tiny("albert", "<s> $A </s>")
    batch = first_batch(head_model, CLASSIFICATION)
    masks = 1 - torch.eye(len(head_model.grid), dtype=torch.float64)
    found = MaskedLosses.of(head_model, CLASSIFICATION, batch)
    assert not found.recording.known(head_model.sites[0])
    expected = one_by_one(head_model, CLASSIFICATION, batch, masks)
    torch.testing.assert_close(found.under(masks), expected, rtol=1e-10, atol=1e-12)


def test_no_mask_at_all_gives_no_losses() -> None:
    head_model, task = subject("encoder")
    batch = first_batch(head_model, task)
    assert MaskedLosses.of(head_model, task, batch).under(torch.ones(0, len(head_model.grid))).shape == (0, len(batch))


def test_masks_of_another_model_are_refused() -> None:
    head_model, task = subject("encoder")
    found = MaskedLosses.of(head_model, task, first_batch(head_model, task))
    with pytest.raises(ValueError, match="masks of 5 heads; the model has 12"):
        found.under(torch.ones(2, 5))


def test_nothing_is_derived() -> None:
    head_model, task = subject("encoder")
    found = MaskedLosses.of(head_model, task, first_batch(head_model, task))
    masks = random_masks(head_model, 2).requires_grad_()
    assert not found.losses.requires_grad
    assert not found.under(masks).requires_grad


@EVERY_KIND
def test_copies_of_a_batch_each_have_their_own_gates_and_derivatives(kind: str) -> None:
    head_model, task = subject(kind)
    batch = first_batch(head_model, task, 3)
    gates = random_masks(head_model, 2 * len(batch)).requires_grad_()
    losses = losses_of_copies(head_model, task, batch, gates)
    (slopes,) = torch.autograd.grad(losses.sum(), gates)
    for row in range(len(gates)):
        own = gates[row].detach().clone().requires_grad_()
        alone = picked(batch, torch.tensor([row % len(batch)]))
        with gated(head_model, own):
            expected = task.losses(head_model, alone)
        torch.testing.assert_close(losses[row], expected[0], rtol=1e-10, atol=1e-12)
        torch.testing.assert_close(slopes[row], torch.autograd.grad(expected[0], own)[0], rtol=1e-8, atol=1e-11)


def test_repeated_and_picked_rows_keep_their_order() -> None:
    head_model, task = subject("seq2seq")
    batch = first_batch(head_model, task, 3)
    twice = repeated(batch, 2)
    assert twice.indices == batch.indices * 2
    last = picked(twice, torch.tensor([5, 0]))
    assert last.indices == (batch.indices[2], batch.indices[0])
    assert last.inputs.keys() == batch.inputs.keys()
    for name, values in last.inputs.items():
        assert torch.equal(values, batch.inputs[name][[2, 0]])
    assert torch.equal(last.labels, batch.labels[[2, 0]])


def test_as_many_masks_share_a_pass_as_the_budget_allows() -> None:
    head_model, task = subject("seq2seq")
    batch = first_batch(head_model, task, 3)
    width = max(value.shape[1] for value in batch.inputs.values())
    assert masks_at_once(head_model, task, batch) == task.budget(head_model) // (3 * width)
    many = repeated(batch, 2 * masks_at_once(head_model, task, batch))
    assert masks_at_once(head_model, task, many) == 1
    looker, digits = subject("vision")
    images = first_batch(looker, digits, 4)
    assert masks_at_once(looker, digits, images) == digits.budget(looker) // 4


def test_open_gates_are_no_coarser_than_single_precision() -> None:
    head_model, _ = subject("encoder")
    assert open_gates(head_model, 2).dtype == torch.float64
    half = replace(head_model, model=tiny("bert").model.half())
    assert open_gates(half, 2).dtype == torch.float32
    assert open_gates(half, 2).shape == (2, 12)
