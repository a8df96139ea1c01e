from __future__ import annotations

import pytest

from headscope.analysis.importance.method import score
from headscope.analysis.importance.methods.ablation import Ablation
from tests.analysis.hand_wired import hand_wired
from tests.analysis.subjects import KINDS, N, subject
from tests.reference.ablation import ablation, loss


@pytest.mark.parametrize("kind", KINDS)
def test_the_score_is_the_mean_rise_of_the_loss_without_the_head(kind: str) -> None:
    head_model, task = subject(kind)
    examples = list(task.batches(head_model, "calibration", N, budget=1))
    expected = {head: sum(ablation(head_model, task, one, head) for one in examples) / N for head in head_model.grid}
    scores = score(Ablation(), head_model, task, n=N)
    assert scores.values == pytest.approx(expected, rel=1e-8, abs=1e-11)


def test_a_head_without_which_the_model_is_better_scores_below_nothing() -> None:
    values = score(Ablation(), *subject("encoder"), n=N).values.values()
    assert min(values) < 0 < max(values)


def test_without_the_important_head_the_hand_wired_model_knows_nothing() -> None:
    head_model, task, important = hand_wired()
    examples = list(task.batches(head_model, "calibration", 8, budget=1))
    blind = sum(loss(head_model, task, one, {important: 0}) for one in examples) / len(examples)
    seeing = sum(loss(head_model, task, one, {}) for one in examples) / len(examples)
    assert blind == pytest.approx(0.693, abs=0.01)  # ln 2: one of two labels, by chance
    values = score(Ablation(), head_model, task, n=8).values
    assert values[important] == pytest.approx(blind - seeing)
    assert sorted(values.values())[-2] < 0.01 * values[important]
