from __future__ import annotations

import pytest
import torch

from headscope.analysis.importance.method import score
from headscope.analysis.importance.methods.taylor import Taylor
from headscope.models.gating import gated
from tests.analysis.importance.test_gradient import N, close, derivatives
from tests.analysis.subjects import KINDS, subject


@pytest.mark.parametrize("kind", KINDS)
def test_the_score_is_the_negative_mean_derivative(kind: str) -> None:
    expected = {head: -sum(found) / N for head, found in derivatives(kind).items()}
    assert score(Taylor(), *subject(kind), n=N).values == close(kind, expected)


def test_a_small_step_towards_removal_raises_the_loss_by_as_much() -> None:
    head_model, task = subject("encoder")
    scores = score(Taylor(), head_model, task).values
    gates = torch.ones(len(head_model.grid), dtype=torch.float64)
    head = max(scores, key=lambda head: abs(scores[head]))
    gates[head_model.grid.positions[head]] -= 1e-5
    (batch,) = task.batches(head_model, "calibration")
    with torch.no_grad():
        before = task.losses(head_model, batch).mean()
        with gated(head_model, gates):
            after = task.losses(head_model, batch).mean()
    assert float(after - before) / 1e-5 == pytest.approx(scores[head], rel=1e-3)


def test_heads_may_score_below_nothing() -> None:
    values = score(Taylor(), *subject("encoder"), n=N).values.values()
    assert min(values) < 0 < max(values)
    assert Taylor.signed
