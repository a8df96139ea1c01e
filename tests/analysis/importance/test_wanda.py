from __future__ import annotations

import pytest
import torch

from headscope.analysis.importance.method import score
from headscope.analysis.importance.methods.wanda import Wanda
from tests.analysis.subjects import KINDS, fresh, subject
from tests.reference.wanda import wanda

N = 3


@pytest.mark.parametrize("kind", KINDS)
def test_it_is_weight_times_activation_of_every_column(kind: str) -> None:
    head_model, task = subject(kind)
    examples = list(task.batches(head_model, "calibration", N, budget=1))
    expected = {head: wanda(head_model, examples, head) for head in head_model.grid if head.head < 2}
    scores = score(Wanda(), head_model, task, n=N)
    assert {head: scores.values[head] for head in expected} == pytest.approx(expected, rel=1e-6)


def test_no_label_is_read() -> None:
    head_model, task = subject("encoder")
    (batch,) = task.batches(head_model, "calibration", N)
    values, _ = Wanda().of_batch(head_model, task, batch)
    batch.labels.fill_(-7)
    assert torch.equal(Wanda().of_batch(head_model, task, batch)[0], values)


def test_twice_the_weights_of_a_layer_are_twice_its_scores() -> None:
    head_model, task = fresh("decoder")
    before = score(Wanda(), head_model, task, n=N).values
    with torch.no_grad():
        head_model.model.get_submodule(head_model.site("decoder", 2).output).weight.mul_(2)
    after = score(Wanda(), head_model, task, n=N).values
    assert after == pytest.approx({head: value * (2 if head.layer == 2 else 1) for head, value in before.items()})
