from __future__ import annotations

import copy
from dataclasses import replace

import numpy as np
import pytest
import torch

from headscope.models.gating import gated
from headscope.models.head_model import HeadModel
from headscope.models.heads import HeadId
from headscope.models.partial_forward import recording
from headscope.models.pausing import pausing
from headscope.pruning.evaluation.cost import Costs
from headscope.pruning.evaluation.evaluator import Evaluator
from headscope.pruning.evaluation.masked_passes import Passes, recorded_bytes
from headscope.pruning.masks import HeadMask
from headscope.pruning.surgery import without_heads
from headscope.tasks.fidelity import Fidelity
from headscope.tasks.task import Outcomes, Splits, Task
from tests.analysis.hand_wired import IMPORTANT, hand_wired
from tests.analysis.subjects import KINDS, WRITING, subject
from tests.tasks.tiny import TEXTS, filler, tiny

N = 10
EVERY_KIND = pytest.mark.parametrize("kind", [*KINDS, "filler", "fidelity", "long"])


def judged(kind: str) -> tuple[HeadModel, Task]:
    if kind == "filler":  # several rows a text
        return filler(), WRITING
    if kind == "long":  # several windows a text
        texts = [" ".join([text] * 30) for text in TEXTS]
        return tiny("gpt2"), replace(WRITING, examples=Splits.of(texts, texts, texts))
    if kind == "fidelity":
        head_model, _ = subject("encoder")
        return head_model, Fidelity("same", "same", head_model, Splits.of(TEXTS, TEXTS, TEXTS))
    return subject(kind)


def masks_of(head_model: HeadModel) -> list[HeadMask]:
    """A late head, an early one, both, two layers of every bank, all heads, and none again."""
    whole, banks = HeadMask(head_model.grid), head_model.grid.banks
    late = [HeadId(bank.bank, len(bank.layers) - 1, 0) for bank in banks]
    early = [HeadId(bank.bank, 0, 1) for bank in banks]
    alone = [HeadMask(head_model.grid).prune(*head_model.grid.layer(bank.bank, 0)) for bank in banks]
    return [whole, *(whole.prune(head) for head in late + early), whole.prune(*late, *early), *alone, ~whole, whole]


def plainly(head_model: HeadModel, task: Task, mask: HeadMask) -> Outcomes:
    with gated(head_model, mask.as_gates()):
        return task.outcomes(head_model, "test", N)


def plain_loss(head_model: HeadModel, task: Task, mask: HeadMask) -> float:
    """The mean over examples of the mean loss of its rows, batch by batch."""
    rows: dict[int, list[float]] = {}
    with torch.no_grad(), gated(head_model, mask.as_gates()):
        for batch in task.batches(head_model, "test", N):
            for index, loss in zip(batch.indices, task.losses(head_model, batch).tolist(), strict=True):
                rows.setdefault(index, []).append(loss)
    return float(np.mean([np.mean(losses) for losses in rows.values()]))


def same(first: Outcomes, second: Outcomes) -> bool:
    return (
        (first.task, first.split, list(first.columns)) == (second.task, second.split, list(second.columns))
        and np.array_equal(first.indices, second.indices)
        and all(np.array_equal(column, second[name]) for name, column in first.columns.items())
    )


@EVERY_KIND
def test_outcomes_are_bit_for_bit_those_of_gates_and_task(kind: str) -> None:
    head_model, task = judged(kind)
    evaluator = Evaluator.of(head_model, task, "test", N)
    expected = {mask: plainly(head_model, task, mask) for mask in masks_of(head_model)}
    for mask in masks_of(head_model):
        assert same(evaluator.outcomes(mask), expected[mask]), str(mask)
    if kind not in ("encoder", "shared"):  # these always choose the same label; fidelity looks closer
        assert len({repr(outcomes.columns) for outcomes in expected.values()}) > 1


@EVERY_KIND
def test_losses_are_those_of_whole_passes(kind: str) -> None:
    head_model, task = judged(kind)
    masks = masks_of(head_model)
    expected = [plain_loss(head_model, task, mask) for mask in masks]
    one_by_one, together = (Evaluator.of(head_model, task, "test", N) for _ in range(2))
    assert [one_by_one.loss(mask) for mask in masks] == pytest.approx(expected, rel=1e-13)
    assert together.losses(masks) == pytest.approx(expected, rel=1e-10)
    assert together.losses(masks[:1]) == together.losses(masks)[:1]


@pytest.mark.parametrize("work", ["losses", "outcomes"])
def test_an_evaluator_that_was_left_inside_a_batch_then_measures_what_any_other_does(work: str) -> None:
    head_model, task = judged("seq2seq")
    masks = masks_of(head_model)
    evaluator, fresh = (Evaluator.of(head_model, task, "test", N) for _ in range(2))
    places = iter([None, None, InterruptedError("left")])

    def leave() -> None:
        if (error := next(places)) is not None:
            raise error

    with pytest.raises(InterruptedError, match="left"), pausing(leave):
        evaluator.losses(masks) if work == "losses" else evaluator.outcomes(masks[1])
    assert evaluator.losses(masks) == fresh.losses(masks)
    assert all(same(evaluator.outcomes(mask), plainly(head_model, task, mask)) for mask in masks)


def test_without_memory_for_recordings_the_results_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    head_model, task = subject("encoder")
    masks = masks_of(head_model)
    expected = [Evaluator.of(head_model, task, "test", N).loss(mask) for mask in masks]
    monkeypatch.setattr("headscope.pruning.evaluation.evaluator.MEMORY", 0)
    evaluator = Evaluator.of(head_model, task, "test", N)
    evaluator._taught = Passes(head_model, evaluator.batches, memory=0)
    assert [evaluator.loss(mask) for mask in masks] == expected
    assert Evaluator.of(head_model, task, "test", N).losses(masks) == pytest.approx(expected, rel=1e-12)


def test_only_the_layers_after_the_first_change_run_again() -> None:
    head_model, task = tiny("bert", "<s> $A </s>"), subject("encoder")[1]
    evaluator = Evaluator.of(head_model, task, "test", N)
    layers = head_model.model.bert.encoder.layer
    ran: list[int] = []
    for number, layer in enumerate(layers):
        layer.intermediate.register_forward_hook(lambda *_, number=number: ran.append(number))
    evaluator.outcomes(evaluator.unpruned)
    assert ran == list(range(len(layers)))
    ran.clear()
    evaluator.outcomes(evaluator.unpruned.prune(HeadId("encoder", len(layers) - 1, 0)))
    assert ran == [len(layers) - 1]
    ran.clear()
    evaluator.outcomes(evaluator.unpruned.prune(HeadId("encoder", 0, 0)))
    assert ran == list(range(len(layers)))
    ran.clear()
    evaluator.loss(evaluator.unpruned.prune(HeadId("encoder", 0, 0)))
    assert ran == [len(layers) - 1], "a loss after its outcomes needs little"


@EVERY_KIND
def test_recordings_take_no_more_than_was_reckoned(kind: str) -> None:
    head_model, task = judged(kind)
    batch = next(iter(task.batches(head_model, "test", N)))
    with recording(head_model, len(batch)) as found:
        task.losses(head_model, batch)
    parts = [part for calls in found._calls.values() for call in calls for part in call.parts]
    tensors = [getattr(part, "value", None) for part in parts]
    tensors += [call.context.value for calls in found._projections.values() for call in calls]
    held = {one.data_ptr(): one.untyped_storage().nbytes() for one in tensors if isinstance(one, torch.Tensor)}
    calls = max(site.calls for site in head_model.sites)
    assert 0 < sum(held.values()) <= calls * recorded_bytes(head_model, batch)


def test_the_batches_that_fit_are_recorded_and_no_more() -> None:
    head_model, task = subject("encoder")
    batches = list(task.batches(head_model, "test", N, budget=24))
    sizes = [recorded_bytes(head_model, batch) for batch in batches]
    passes = Passes(head_model, batches, memory=sizes[0] + sizes[1])
    for number in range(len(batches)):
        passes.look(number, HeadMask(head_model.grid), lambda batch: task.losses(head_model, batch))
    assert len(batches) > 2
    assert sorted(passes._kept) == [0, 1]


def test_what_was_measured_is_remembered_within_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    head_model, task = subject("encoder")
    monkeypatch.setattr("headscope.pruning.evaluation.evaluator.REMEMBERED", 3 * N)
    evaluator = Evaluator.of(head_model, task, "test", N)
    masks = [evaluator.unpruned.prune(head) for head in head_model.grid.heads[:4]]
    first = evaluator.outcomes(masks[0])
    assert evaluator.outcomes(masks[0]) is first
    for mask in (*masks[1:3], masks[0], masks[3]):
        evaluator.outcomes(mask)
    assert len(evaluator._outcomes) == 3
    assert evaluator.outcomes(masks[0]) is first, "what was asked for last stays"


def test_steps_come_after_every_batch_and_can_be_left() -> None:
    head_model, task = subject("encoder")
    evaluator = Evaluator(head_model, task, *[list(task.batches(head_model, "test", N, budget=24))] * 2)
    steps = evaluator.steps(evaluator.unpruned)
    assert next(steps) == (len(evaluator.batches[0]), N)
    steps.close()
    told = []
    steps = evaluator.steps(evaluator.unpruned)
    while True:
        try:
            told.append(next(steps))
        except StopIteration as end:
            outcomes = end.value
            break
    assert [done for done, _ in told] == np.cumsum([len(batch) for batch in evaluator.batches]).tolist()
    assert outcomes.n == N


def test_a_point_tells_metric_loss_cost_and_significance() -> None:
    head_model, task, important = hand_wired()
    evaluator = Evaluator.of(head_model, task, "test")
    whole, broken = evaluator.point(evaluator.unpruned), evaluator.point(evaluator.unpruned.prune(important))
    assert (whole.removed, whole.mask, whole.metric, whole.value, whole.n) == (0, "", "accuracy", 1.0, 24)
    assert (whole.p, whole.worse, whole.series) == (None, False, "order")
    assert (broken.removed, broken.mask) == (1, str(IMPORTANT))
    outcomes = {mask: evaluator.outcomes(mask) for mask in (evaluator.unpruned, evaluator.unpruned.prune(important))}
    comparison = task.compare(*outcomes.values())
    assert broken.p == comparison.p_value < 0.01
    assert broken.worse
    estimate = task.estimates(outcomes[evaluator.unpruned.prune(important)])[0]
    assert (broken.value, broken.low, broken.high) == (estimate.value, estimate.low, estimate.high)
    smaller = without_heads(head_model, HeadMask(head_model.grid).prune(important))
    assert broken.parameters == smaller.n_parameters < whole.parameters == head_model.n_parameters
    assert broken.flops == Costs.of(head_model).under(HeadMask(head_model.grid).prune(important)).flops < whole.flops
    assert broken.loss == evaluator.loss(HeadMask(head_model.grid).prune(important)) > whole.loss


def test_a_point_that_is_better_or_hardly_worse_does_not_count_as_worse() -> None:
    head_model, task, important = hand_wired()
    evaluator = Evaluator.of(head_model, task, "test")
    for head in head_model.grid:
        if head != important:
            point = evaluator.point(evaluator.unpruned.prune(head))
            assert (point.p, point.worse) == (1.0, False)
    swapped = replace(task, examples=Splits.of(*[_with_labels_swapped(task)] * 3))
    turned = Evaluator.of(head_model, swapped, "test")
    point = turned.point(turned.unpruned.prune(important))
    assert point.p is not None
    assert point.p < 0.01
    assert point.value > turned.point(turned.unpruned).value
    assert not point.worse


def _with_labels_swapped(task: Task) -> list[object]:
    examples = task.examples.first("test")  # type: ignore[attr-defined]
    return [replace(one, label=str(1 - int(one.label))) for one in examples]


def test_a_lower_metric_is_worse_only_where_higher_is_better() -> None:
    head_model, task = subject("decoder")
    evaluator = Evaluator.of(head_model, task, "test")
    points = [evaluator.point(evaluator.unpruned.prune(head)) for head in head_model.grid]
    whole = evaluator.point(evaluator.unpruned)
    assert {point.worse for point in points} == {True, False}
    assert all(point.value > whole.value for point in points if point.worse), "perplexity rises where it is worse"


def test_heads_that_are_gone_for_good_do_not_count() -> None:
    head_model, task = subject("encoder")
    gone = HeadMask(head_model.grid).prune(HeadId("encoder", 1, 0), HeadId("encoder", 2, 1))
    smaller = without_heads(head_model, gone)
    evaluator = Evaluator.of(smaller, task, "test", N)
    point = evaluator.point(gone.prune(HeadId("encoder", 0, 0)))
    assert (point.removed, point.mask) == (1, "encoder.0.0")
    assert evaluator.point(gone) == evaluator.point(evaluator.unpruned)


def test_the_mark_tells_tasks_examples_and_labels_apart() -> None:
    head_model, task = subject("encoder")
    marks = {
        Evaluator.of(head_model, judge, split, n).mark
        for judge in (task, replace(task, key="other"), replace(task, examples=Splits.of(*[_swapped(task)] * 3)))
        for split in ("test", "development")
        for n in (N, N - 1)
    }
    assert len(marks) == 12
    assert Evaluator.of(copy.copy(head_model), task, "test", N).mark == Evaluator.of(head_model, task, "test", N).mark


def _swapped(task: Task) -> list[object]:
    examples = task.examples.first("test")  # type: ignore[attr-defined]
    return [replace(examples[0], label=examples[1].label), *examples[1:]]


def test_a_mask_of_another_model_is_refused() -> None:
    head_model, task = subject("encoder")
    other, _ = subject("decoder")
    with pytest.raises(ValueError, match=r"a mask for decoder .*; this model has encoder"):
        Evaluator.of(head_model, task, "test", N).loss(HeadMask(other.grid))
