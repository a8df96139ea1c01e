from __future__ import annotations

import pytest
import torch

from analysis.importance.gradient import Gradient
from analysis.importance.method import score
from models.gating import gated
from models.loading import load
from tasks.catalog import task_for


def test_scores_equal_the_formula_computed_one_example_at_a_time() -> None:
    head_model = load("looker", device="cpu")
    task = task_for(head_model)
    expected = torch.zeros(len(head_model.grid), dtype=torch.float64)
    seen = 0
    for batch in task.batches(head_model, "calibration", 5, budget=1):
        gates = torch.ones(len(head_model.grid), requires_grad=True)
        with gated(head_model, gates):
            loss = task.losses(head_model, batch)
        expected += torch.autograd.grad(loss.squeeze(), gates)[0].abs().double()
        seen += 1
    scores = score(Gradient(), head_model, task, "calibration", 5)
    assert scores.n == seen == 5
    found = torch.tensor([scores.values[head] for head in head_model.grid], dtype=torch.float64)
    torch.testing.assert_close(found, expected / 5, rtol=1e-4, atol=1e-7)


def test_the_error_is_the_standard_error_of_the_mean() -> None:
    head_model = load("looker", device="cpu")
    task = task_for(head_model)
    single = [score(Gradient(), head_model, task, "calibration", n) for n in (1, 2)]
    head = head_model.grid.heads[0]
    first = single[0].values[head]
    second = 2 * single[1].values[head] - first
    assert single[1].errors[head] == pytest.approx(abs(first - second) / 2, rel=1e-3)
    assert all(parameter.grad is None for parameter in head_model.model.parameters())
