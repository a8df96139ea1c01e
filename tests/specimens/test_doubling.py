"""A model made twice as wide: the same function at first, then one that learns with all of its width."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch
from transformers import GPT2Config, GPT2LMHeadModel

from specimens.doubling import doubled
from specimens.recipe import Schedule
from specimens.trainer import Training
from tests.specimens.test_trainer import Tiny, same, weights_after


class Growing(Tiny):
    """The tiny recipe, twice as wide after four steps."""

    schedule = replace(Tiny.schedule, doubles_after=4)


def small() -> GPT2LMHeadModel:
    config = GPT2Config(
        vocab_size=30, n_embd=12, n_layer=2, n_head=3, n_inner=20, n_positions=16, initializer_range=0.4
    )
    model = GPT2LMHeadModel(config).double().eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    return model


def logits(model: GPT2LMHeadModel) -> torch.Tensor:
    with torch.no_grad():
        return model(input_ids=torch.arange(20).reshape(2, 10)).logits


def test_the_wide_model_computes_what_the_narrow_one_computed() -> None:
    narrow = small()
    wide = doubled(narrow).double().eval()
    assert wide.config.n_embd == 24
    assert wide.transformer.h[0].attn.head_dim == 8
    torch.testing.assert_close(logits(wide), logits(narrow), atol=1e-5, rtol=1e-5)
    assert logits(narrow).std() > 0.5


def test_the_two_halves_of_a_feature_learn_different_things() -> None:
    wide = doubled(small()).train()
    tokens = torch.arange(20).reshape(2, 10)
    wide(input_ids=tokens, labels=tokens).loss.backward()
    gradient = wide.transformer.h[0].mlp.c_fc.weight.grad
    first, second = gradient.chunk(2, dim=1)
    assert (first - second).abs().max() > 0.1 * first.abs().max()


@pytest.mark.parametrize("stop", [2, 4, 6])
def test_a_run_stopped_before_at_or_after_the_doubling_ends_with_the_same_weights(stop: int) -> None:
    whole = weights_after(Training(Growing(), seed=3))
    assert whole["transformer.wte.weight"].shape == (20, 16)
    stopped = Training(Growing(), seed=3)
    steps = stopped.steps()
    for _ in range(stop):
        next(steps)
    state: dict[str, Any] = stopped.state()
    torch.manual_seed(99)
    resumed = Training(Growing(), seed=3)
    resumed.load(state)
    assert same(whole, weights_after(resumed))


def test_the_rate_warms_up_again_when_the_model_doubles() -> None:
    schedule = Schedule(steps=1000, peak=2.0, warm_up=100, hold=0.2, doubles_after=600)
    assert not schedule.is_doubled(599)
    assert schedule.is_doubled(600)
    assert schedule.rate(599) == pytest.approx(2.0 * 401 / 800)
    assert schedule.rate(600) == pytest.approx(0.02)
    assert schedule.rate(900) == pytest.approx(2.0 * 100 / 800)
