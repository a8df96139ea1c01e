"""What heads hand to their output projections: the place where gates act, with its gradients."""

from __future__ import annotations

import threading

import pytest
import torch
from torch import Tensor

from headscope.models.example_inputs import output_tensor
from headscope.models.gating import gated, install
from headscope.models.head_model import HeadModel
from headscope.models.heads import HeadId
from headscope.models.inputs import probe_inputs
from headscope.models.recording.head_outputs import watching_contexts
from headscope.pruning.masks import HeadMask
from headscope.pruning.surgery import without_heads
from tests.families import FAMILIES, family


def loss(head_model: HeadModel) -> Tensor:
    return output_tensor(head_model.model(**probe_inputs(head_model.model, batch=2))).square().sum()


def hooks(head_model: HeadModel) -> list[int]:
    return [len(module._forward_pre_hooks) for module in head_model.model.modules()]


@pytest.mark.parametrize("name", FAMILIES)
def test_context_times_gradient_is_the_derivative_by_the_gate(name: str) -> None:
    head_model = family(name)
    gates = torch.ones(2, len(head_model.grid), requires_grad=True)
    with gated(head_model, gates), watching_contexts(head_model) as contexts:
        result = loss(head_model)
    expected, *gradients = torch.autograd.grad(result, [gates, *(context.values for context in contexts)])
    found = torch.zeros_like(expected)
    for context, gradient in zip(contexts, gradients, strict=True):
        for place, head in enumerate(context.site.kept):
            column = head_model.grid.positions[HeadId(context.site.bank, context.site.layer, head)]
            found[:, column] += context.by_head(context.values * gradient).sum(dim=1)[:, place]
    torch.testing.assert_close(found, expected, rtol=1e-3, atol=1e-4 * float(expected.abs().max()))
    assert len(contexts) == sum(site.calls for site in head_model.sites)


def test_contexts_are_what_is_left_after_gates() -> None:
    head_model = family("bert")
    gates = torch.ones(len(head_model.grid))
    gates[head_model.grid.positions[HeadId("encoder", 1, 2)]] = 0
    with torch.no_grad(), gated(head_model, gates), watching_contexts(head_model) as contexts:
        loss(head_model)
    sizes = torch.stack([context.by_head(context.values.abs()).sum(dim=(0, 1)) for context in contexts])
    assert (sizes == 0).nonzero().tolist() == [[1, 2]]


def test_a_frozen_model_can_be_derived_by_its_contexts() -> None:
    head_model = without_heads(family("gpt2"), HeadMask(family("gpt2").grid))
    with watching_contexts(head_model) as contexts:
        expected = torch.autograd.grad(loss(head_model), [context.values for context in contexts])
    head_model.model.requires_grad_(False)
    with watching_contexts(head_model) as contexts:
        found = torch.autograd.grad(loss(head_model), [context.values for context in contexts])
    for gradient, wanted in zip(found, expected, strict=True):
        torch.testing.assert_close(gradient, wanted)


def test_watching_changes_nothing_and_leaves_nothing() -> None:
    head_model = family("marian")
    install(head_model)
    before, expected = hooks(head_model), loss(head_model)
    with watching_contexts(head_model) as contexts:
        torch.testing.assert_close(loss(head_model), expected, rtol=0, atol=0)
    seen = len(contexts)
    loss(head_model)
    assert len(contexts) == seen == 9
    with pytest.raises(RuntimeError, match="stop"), watching_contexts(head_model):
        raise RuntimeError("stop")
    assert hooks(head_model) == before


def test_only_the_thread_that_watches_is_watched() -> None:
    head_model = family("vit")
    with watching_contexts(head_model) as contexts:
        other = threading.Thread(target=loss, args=(head_model,))
        other.start()
        other.join()
        assert contexts == []
        with watching_contexts(head_model) as inner:
            loss(head_model)
    assert len(inner) == len(contexts) == 3


def test_a_layer_without_heads_is_never_seen_and_one_with_fewer_has_its_own() -> None:
    whole = family("llama")
    gone = {HeadId("decoder", 1, head) for head in range(4)} | {HeadId("decoder", 2, 0)}
    head_model = without_heads(whole, HeadMask(whole.grid, frozenset(gone)))
    with watching_contexts(head_model) as contexts:
        loss(head_model)
    assert [(context.site.layer, context.by_head(context.values).shape[-1]) for context in contexts] == [(0, 4), (2, 3)]
