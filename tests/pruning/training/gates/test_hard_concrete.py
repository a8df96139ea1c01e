from __future__ import annotations

import math

import pytest
import torch

from headscope.pruning.training import hard_concrete
from headscope.pruning.training.hard_concrete import (
    SHIM_BETA,
    VOITA_BETA,
    binarised,
    expected,
    expected_open,
    p_one,
    p_open,
    sampled,
)

LOG_A = torch.linspace(-3, 3, 7, dtype=torch.float64)
DRAWS = 200_000
NEAR = 0.005
"""More than four standard errors of a share of so many draws."""


def literal_gate(log_a: float, u: float, beta: float) -> float:
    s = 1 / (1 + math.exp(-(math.log(u) - math.log(1 - u) + log_a) / beta))
    return min(1.0, max(0.0, s * (1.1 - -0.1) + -0.1))


@pytest.mark.parametrize("beta", [VOITA_BETA, SHIM_BETA])
def test_a_draw_is_the_formula_of_the_paper(beta: float) -> None:
    uniform = torch.tensor([0.1, 0.5, 0.9, 0.01, 0.35, 0.62, 0.99], dtype=torch.float64)
    found = sampled(LOG_A, uniform, beta)
    expected_gates = [literal_gate(a, u, beta) for a, u in zip(LOG_A.tolist(), uniform.tolist(), strict=True)]
    assert found.tolist() == pytest.approx(expected_gates)


@pytest.mark.parametrize("beta", [VOITA_BETA, SHIM_BETA])
def test_probabilities_and_mean_are_those_of_many_draws(beta: float) -> None:
    for log_a in LOG_A:
        draws = sampled(log_a.expand(DRAWS), torch.rand(DRAWS, dtype=torch.float64), beta)
        one = log_a[None]
        assert float(p_open(one, beta)) == pytest.approx(float((draws > 0).double().mean()), abs=NEAR)
        assert float(p_one(one, beta)) == pytest.approx(float((draws == 1).double().mean()), abs=NEAR)
        assert float(expected(one, beta)) == pytest.approx(float(draws.mean()), abs=NEAR)


def test_the_mean_is_not_the_gate_of_the_released_code_at_test_time() -> None:
    means = expected(torch.tensor([2.0, -1.0], dtype=torch.float64))
    assert means.tolist() == pytest.approx([0.875, 0.275], abs=0.001)


def test_the_penalty_is_the_sum_over_heads_and_not_a_mean() -> None:
    literal = sum(1 / (1 + math.exp(-(a - 0.33 * math.log(0.1 / 1.1)))) for a in LOG_A.tolist())
    assert float(expected_open(LOG_A)) == pytest.approx(literal)


@pytest.mark.parametrize("beta", [VOITA_BETA, SHIM_BETA])
def test_a_head_stays_if_one_is_likelier_than_zero(beta: float) -> None:
    log_a = torch.linspace(-2, 2, 41, dtype=torch.float64)
    log_a = log_a[log_a.abs() > 0.01]
    by_rule = p_one(log_a, beta) > 1 - p_open(log_a, beta)
    assert torch.equal(hard_concrete.stays(log_a), by_rule)


def test_binarised_draws_are_zero_or_one_and_have_the_gradient_of_the_soft_ones() -> None:
    log_a = torch.zeros(50, dtype=torch.float64, requires_grad=True)
    uniform = torch.rand(50, dtype=torch.float64)
    hard, soft = binarised(log_a, uniform), sampled(log_a, uniform, SHIM_BETA)
    assert set(hard.tolist()) == {0.0, 1.0}
    assert torch.equal(hard > 0.5, soft > 0.5)
    weights = torch.randn(50, dtype=torch.float64)
    (of_hard,) = torch.autograd.grad((hard * weights).sum(), log_a, retain_graph=True)
    (of_soft,) = torch.autograd.grad((soft * weights).sum(), log_a)
    torch.testing.assert_close(of_hard, of_soft)
    assert of_hard.abs().max() > 0


def test_uniform_numbers_at_the_ends_give_finite_gates_and_gradients() -> None:
    log_a = torch.tensor([-30.0, 0.0, 30.0, 0.0], dtype=torch.float64, requires_grad=True)
    gates = sampled(log_a, torch.tensor([0.0, 0.0, 1.0, 1.0], dtype=torch.float64))
    assert gates.isfinite().all()
    (gradient,) = torch.autograd.grad(gates.sum() + expected_open(log_a), log_a)
    assert gradient.isfinite().all()
