from __future__ import annotations

import math
import statistics

import numpy as np
import pytest
import torch

from headscope.pruning.training.cooling import FEWEST, HARD, WARM, Cooling, temperature_at
from headscope.pruning.training.subset_gates import gumbel, hard_subset, soft_subset, straight_through

HEADS = 24
KS = [1, 3, 12, 23, 24]
COOL = 60
SCHEDULE = [temperature_at(step, COOL, 1000.0, 1e-8) for step in range(COOL + 2)]


def literal_subset(weights: list[float], noise: list[float], k: int, temperature: float) -> list[float]:
    r = [weight + one for weight, one in zip(weights, noise, strict=True)]
    mask = [0.0] * len(r)
    for _ in range(k):
        largest = max(r)
        powers = [math.exp((one - largest) / temperature) for one in r]
        p = [power / sum(powers) for power in powers]
        mask = [one + more for one, more in zip(mask, p, strict=True)]
        r = [one + math.log(max(1 - more, np.finfo(float).tiny)) for one, more in zip(r, p, strict=True)]
    return mask


def drawn(seed: int) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    weights = torch.randn(HEADS, generator=generator, dtype=torch.float64)
    return weights, gumbel(torch.rand(HEADS, generator=generator, dtype=torch.float64))


@pytest.mark.parametrize("temperature", [10.0, 1.0, 0.1, 0.01])
@pytest.mark.parametrize("k", KS)
def test_the_soft_choice_is_the_recursion_of_the_paper(k: int, temperature: float) -> None:
    weights, noise = drawn(k)
    found = soft_subset(weights, noise, k, temperature)
    assert found.tolist() == pytest.approx(literal_subset(weights.tolist(), noise.tolist(), k, temperature), abs=1e-9)


@pytest.mark.parametrize("k", KS)
def test_gates_add_up_to_k_at_every_temperature_and_are_hard_in_the_end(k: int) -> None:
    for seed in range(5):
        weights, noise = drawn(seed)
        for temperature in SCHEDULE:
            assert float(soft_subset(weights, noise, k, temperature).sum()) == pytest.approx(k)
        last = soft_subset(weights, noise, k, SCHEDULE[-1])
        assert torch.equal(last, hard_subset(weights + noise, k))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_gradients_are_finite_over_the_whole_schedule(dtype: torch.dtype) -> None:
    for seed in range(3):
        weights, noise = (one.to(dtype) for one in drawn(seed))
        weights.requires_grad_()
        worth = torch.randn(HEADS, dtype=dtype)
        for k in KS:
            for temperature in SCHEDULE:
                chosen = soft_subset(weights, noise, k, temperature)
                (gradient,) = torch.autograd.grad((chosen * worth).sum(), weights)
                assert gradient.isfinite().all()


@pytest.mark.parametrize("temperature", [10.0, 1.0, 0.2])
@pytest.mark.parametrize("k", [1, 3, 6])
def test_the_backward_pass_by_hand_is_the_derivative(k: int, temperature: float) -> None:
    weights, noise = (one[:6] for one in drawn(k))
    assert torch.autograd.gradcheck(lambda given: soft_subset(given, noise, k, temperature), weights.requires_grad_())


def test_above_the_useful_temperatures_gates_are_nearly_alike_and_below_nearly_hard() -> None:
    hot, cold = [], []
    for seed in range(20):
        weights, noise = drawn(seed)
        alike = soft_subset(weights, noise, 6, WARM)
        hot.append(float((alike - 6 / HEADS).abs().mean()))
        cold.append(float((soft_subset(weights, noise, 6, HARD) - hard_subset(weights + noise, 6)).abs().mean()))
    assert max(hot) < 0.1
    assert statistics.fmean(cold) < 0.02


def test_a_run_with_few_steps_at_useful_temperatures_is_cautioned_and_a_longer_or_calmer_one_not() -> None:
    usual, calm = Cooling(), Cooling(hot=1.0, cold=1e-2)
    short = usual.useful_steps(20)
    assert short == sum(HARD <= temperature_at(step, 16, 1000.0, 1e-8) <= WARM for step in range(20)) < FEWEST
    assert usual.caution(20).startswith(f"{short} of 20 steps have a temperature from 10 to 0.01")
    assert usual.caution(400) == ""
    assert usual.caution(100) != ""
    assert calm.caution(100) == ""


def test_a_cold_choice_has_no_gradient_and_a_warm_one_has() -> None:
    weights, noise = drawn(0)
    weights.requires_grad_()
    worth = torch.randn(HEADS, dtype=torch.float64)
    norms = []
    for temperature in (1.0, 1e-8):
        (gradient,) = torch.autograd.grad((soft_subset(weights, noise, 6, temperature) * worth).sum(), weights)
        norms.append(float(gradient.norm()))
    assert norms[0] > 0.1
    assert norms[1] == 0


def test_the_temperature_falls_in_a_line_of_logarithms_and_then_stays() -> None:
    assert temperature_at(0, 100, 1000.0, 1e-8) == pytest.approx(1000)
    assert temperature_at(50, 100, 1000.0, 1e-8) == pytest.approx(math.sqrt(1000 * 1e-8))
    assert temperature_at(100, 100, 1000.0, 1e-8) == pytest.approx(1e-8)
    assert temperature_at(900, 100, 1000.0, 1e-8) == pytest.approx(1e-8)


@pytest.mark.parametrize("k", KS)
def test_the_straight_through_choice_has_exactly_k_ones_even_if_all_weights_are_equal(k: int) -> None:
    for weights in (drawn(0)[0], torch.zeros(HEADS, dtype=torch.float64)):
        chosen = straight_through(weights.requires_grad_(), k)
        assert sorted(chosen.tolist()) == [0.0] * (HEADS - k) + [1.0] * k


def test_the_straight_through_choice_gives_the_gradient_on_as_it_is() -> None:
    weights = drawn(0)[0].requires_grad_()
    worth = torch.randn(HEADS, dtype=torch.float64)
    (gradient,) = torch.autograd.grad((straight_through(weights, 5) * worth).sum(), weights)
    assert torch.equal(gradient, worth)


def test_of_equal_weights_the_first_heads_stay() -> None:
    assert hard_subset(torch.tensor([1.0, 2.0, 1.0, 1.0]), 2).tolist() == [1, 1, 0, 0]


@pytest.mark.parametrize("k", [0, -1, HEADS + 1])
def test_more_heads_than_there_are_or_none_are_refused(k: int) -> None:
    with pytest.raises(ValueError, match=f"{k} heads to keep of {HEADS}; from 1 to {HEADS} are allowed"):
        hard_subset(drawn(0)[0], k)
