from __future__ import annotations

import pytest
import torch

from headscope.analysis.importance.method import Method, incomplete, missed_by, portions, score
from headscope.analysis.importance.methods import integrated_gradients
from headscope.analysis.importance.methods.integrated_gradients import IntegratedGradients, gaps, integrals, savings
from headscope.analysis.importance.methods.lrp import Relevance
from headscope.analysis.importance.methods.shapley import Shapley
from headscope.models.loading.loader import load
from headscope.tasks.batches.masked_losses import open_gates
from headscope.tasks.task_catalog import task_for
from tests.analysis.hand_wired import hand_wired
from tests.analysis.subjects import KINDS, N, subject
from tests.reference.ablation import loss
from tests.reference.integrated_gradients import integrated_gradient


def missed(method: Method, head_model, task, batch) -> torch.Tensor:  # type: ignore[no-untyped-def]
    """How far the heads of each example are from L(no heads) - L(all heads), as a share of it."""
    values, _ = method.of_batch(head_model, task, batch)
    gates = open_gates(head_model, len(batch))
    with torch.no_grad():
        saved = savings(head_model, task, batch, gates) - savings(head_model, task, batch, 0 * gates)
    return (values.sum(dim=1) - saved).abs() / saved.abs()


def test_values_equal_the_integral_by_another_rule_one_example_at_a_time() -> None:
    head_model, task, _ = hand_wired()
    (batch,) = task.batches(head_model, "calibration", 2)
    values, _ = IntegratedGradients().of_batch(head_model, task, batch)
    by_index = dict(zip(batch.indices, values.tolist(), strict=True))
    for example in task.batches(head_model, "calibration", 2, budget=1):
        expected = [integrated_gradient(head_model, task, example, head, 20) for head in head_model.grid]
        assert by_index[example.indices[0]] == pytest.approx(expected, rel=1e-3, abs=1e-7)


@pytest.mark.parametrize("kind", KINDS)
def test_heads_of_an_example_add_up_to_what_they_save_together(kind: str) -> None:
    head_model, task = subject(kind)
    for batch in task.batches(head_model, "calibration", N):
        assert missed(IntegratedGradients(), head_model, task, batch).max() <= 1e-3


@pytest.mark.parametrize("name", ["looker", "reader"])
def test_trained_models_are_complete_too(name: str) -> None:
    head_model = load(name, device="cpu")
    task = task_for(head_model)
    for batch in task.batches(head_model, "calibration", 6):
        assert missed(IntegratedGradients(), head_model, task, batch).max() <= 1.1e-3


def test_what_is_saved_is_the_loss_without_heads_less_that_with_all() -> None:
    head_model, task, _ = hand_wired()
    values = score(IntegratedGradients(), head_model, task, n=4).values
    examples = list(task.batches(head_model, "calibration", 4, budget=1))
    none = dict.fromkeys(head_model.grid, 0.0)
    saved = sum(loss(head_model, task, one, none) - loss(head_model, task, one, {}) for one in examples) / 4
    assert sum(values.values()) == pytest.approx(saved, rel=1e-3)
    assert saved > 0


def test_only_examples_that_are_not_complete_get_more_points(monkeypatch: pytest.MonkeyPatch) -> None:
    head_model, task = subject("encoder")
    (batch,) = task.batches(head_model, "calibration", N)
    asked: list[tuple[int, int]] = []

    def noted(*args):  # type: ignore[no-untyped-def]
        asked.append((len(args[2]), args[3]))
        return integrals(*args)

    monkeypatch.setattr(integrated_gradients, "integrals", noted)
    IntegratedGradients(1).of_batch(head_model, task, batch)
    rows, points = zip(*asked, strict=True)
    assert points == tuple(2**number for number in range(len(points)))
    assert rows[0] == N and sorted(rows, reverse=True) == list(rows) and rows[-1] < N


def test_a_sum_that_misses_is_found() -> None:
    head_model, task = subject("encoder")
    (batch,) = task.batches(head_model, "calibration", N)
    values = integrals(head_model, task, batch, 512)
    assert not gaps(head_model, task, batch, values).any()
    values[1] *= 1.01
    assert (gaps(head_model, task, batch, values) > 0).tolist() == [False, True, False, False]
    assert gaps(head_model, task, batch, values)[1] == pytest.approx(0.01, rel=0.1)


def test_what_stays_incomplete_is_told_by_how_many_examples_and_how_far(monkeypatch: pytest.MonkeyPatch) -> None:
    head_model, task = subject("encoder")
    (batch,) = task.batches(head_model, "calibration", N)
    (whole,) = portions(IntegratedGradients(), head_model, task, [batch])
    assert missed_by(IntegratedGradients(), head_model, task, batch, whole).tolist() == [0] * N
    monkeypatch.setattr(integrated_gradients, "MOST_STEPS", 1)
    (rough,) = portions(IntegratedGradients(1), head_model, task, [batch])
    expected = missed(IntegratedGradients(1), head_model, task, batch)
    found = missed_by(IntegratedGradients(1), head_model, task, batch, rough)
    short = expected > 1e-3
    assert short.sum() > 0 and (found > 0).tolist() == short.tolist()
    assert found[short.numpy()] == pytest.approx(expected[short].numpy(), rel=0.5)
    assert missed_by(Shapley(samples=2), head_model, task, batch, rough).tolist() == [0] * N


def test_the_sentence_names_the_largest_gap_and_is_only_said_if_there_is_one() -> None:
    assert incomplete({0: 0.0, 3: 0.0}) == ""
    assert incomplete({0: 0.0, 1: 0.012, 2: 0.25}) == (
        "Not complete: in 2 of 3 examples the heads miss what they save together, by 0.25 of it at most, "
        "however many points the path had."
    )


def test_heads_that_save_nothing_together_miss_by_a_finite_share(monkeypatch: pytest.MonkeyPatch) -> None:
    head_model, task = subject("encoder")
    (batch,) = task.batches(head_model, "calibration", N)
    monkeypatch.setattr(integrated_gradients, "savings", lambda *_: torch.ones(N, dtype=torch.float64))
    values = torch.ones(N, len(head_model.grid), dtype=torch.float64)
    assert gaps(head_model, task, batch, values).tolist() == [1] * N


def test_a_path_needs_points() -> None:
    for steps in (0, 5000):
        with pytest.raises(ValueError, match=f"{steps} steps; allowed are 1 to 1024"):
            IntegratedGradients(steps)


@pytest.mark.parametrize("method", [IntegratedGradients(), Shapley(samples=2), Relevance()])
def test_what_a_method_promises_to_add_up_adds_up(method: Method) -> None:
    head_model = load("looker", device="cpu")
    task = task_for(head_model)
    (batch,) = task.batches(head_model, "calibration", 3)
    (found,) = portions(method, head_model, task, [batch])
    whole, *parts = method.balance(head_model, task, batch, found).values()
    assert whole != 0
    assert sum(parts) == pytest.approx(whole, rel=1e-3)
