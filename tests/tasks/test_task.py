"""Every task: batches, gates, gradients and comparisons mean the same whatever the batch."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from headscope.models.gating import gated
from headscope.tasks.classification import Classification, LabelledText
from headscope.tasks.language_modelling import LanguageModelling
from headscope.tasks.task import Outcomes, Splits, check_paired
from headscope.tasks.translation import TextPair, Translation
from headscope.tasks.vision import Digits
from tests.tasks.tiny import TEXTS, closed, filler, opened, tiny

LABELLED = [LabelledText(text, str(number % 2)) for number, text in enumerate(TEXTS)]
PAIRS = [TextPair(source, target) for source, target in zip(TEXTS, reversed(TEXTS), strict=True)]
N = 12


def thrice(examples):
    return Splits.of(examples, examples, examples)


def digit_looker():
    looker = tiny("vit")
    looker.model.config.id2label = {number: str(number) for number in range(10)}
    width = looker.model.classifier.in_features
    torch.manual_seed(1)
    looker.model.classifier = torch.nn.Linear(width, 10).double()
    return replace(looker, tokenizer=None)


CASES = {
    "classification": lambda: (Classification("c", "C", thrice(LABELLED)), tiny("bert", "<s> $A </s>")),
    "translation": lambda: (Translation("t", "T", thrice(PAIRS)), tiny("marian")),
    "writing": lambda: (LanguageModelling("l", "L", thrice(TEXTS)), tiny("gpt2")),
    "filling": lambda: (LanguageModelling("l", "L", thrice(TEXTS)), filler()),
    "digits": lambda: (Digits("d", "D"), digit_looker()),
}


@pytest.fixture(scope="module", params=CASES)
def case(request):
    return CASES[request.param]()


def losses(task, head_model, budget):
    """By example; the rows of one example in their order."""
    found = [
        (index, loss)
        for batch in task.batches(head_model, "test", N, budget)
        for index, loss in zip(batch.indices, task.losses(head_model, batch).tolist(), strict=True)
    ]
    return np.array(sorted(found))


def same(first, second):
    assert np.array_equal(first.indices, second.indices)
    for name, column in first.columns.items():
        if column.dtype.kind == "f":
            np.testing.assert_allclose(column, second[name], atol=1e-9)
        else:
            assert column.tolist() == second[name].tolist()


def test_losses_one_by_one_are_those_of_a_batch(case):
    with torch.no_grad():
        np.testing.assert_allclose(losses(*case, 1), losses(*case, 10_000), atol=1e-9)


def test_outcomes_do_not_depend_on_the_batch_or_on_the_side_of_padding(case):
    task, head_model = case
    expected = task.outcomes(head_model, "test", N)
    assert expected.indices.tolist() == list(range(N))
    same(expected, task.outcomes(head_model, "test", N, budget=1))
    if head_model.tokenizer is not None:
        head_model.tokenizer.padding_side = "left"
        same(expected, task.outcomes(head_model, "test", N))
        head_model.tokenizer.padding_side = "right"


def test_open_gates_change_nothing_and_shut_gates_do(case):
    task, head_model = case
    with torch.no_grad():
        plain = losses(task, head_model, None)
        with gated(head_model, opened(head_model)):
            assert np.array_equal(losses(task, head_model, None), plain)
        with gated(head_model, closed(head_model)):
            assert np.abs(losses(task, head_model, None) - plain).max() > 1e-3


def test_gradients_of_example_gates_are_those_of_each_example_alone(case):
    task, head_model = case
    (batch, *_) = task.batches(head_model, "test", 4, 10_000)
    gates = opened(head_model).repeat(len(batch), 1).requires_grad_()
    with gated(head_model, gates):
        (together,) = torch.autograd.grad(task.losses(head_model, batch).sum(), gates)
    alone = {}
    for single in task.batches(head_model, "test", 4, 1):
        gate = opened(head_model).requires_grad_()
        with gated(head_model, gate):
            (gradient,) = torch.autograd.grad(task.losses(head_model, single).sum(), gate)
        alone.setdefault(single.indices[0], []).append(gradient)
    for index, gradients in alone.items():
        own = [together[row] for row, other in enumerate(batch.indices) if other == index]
        torch.testing.assert_close(sum(own), sum(gradients), atol=1e-8, rtol=1e-6)
    assert together.abs().max() > 1e-4


def test_losses_can_be_differentiated_after_outcomes_were_taken(case):
    task, head_model = case
    task.outcomes(head_model, "test", 4)
    gates = opened(head_model).requires_grad_()
    with gated(head_model, gates):
        total = sum(task.losses(head_model, batch).sum() for batch in task.batches(head_model, "test", 4))
    assert torch.autograd.grad(total, gates)[0].isfinite().all()


def test_estimates_lead_with_the_headline_and_a_model_does_not_differ_from_itself(case):
    task, head_model = case
    outcomes = task.outcomes(head_model, "test", N)
    estimates = task.estimates(outcomes)
    assert [estimate.metric for estimate in estimates] == [metric.name for metric in task.metrics]
    assert all(estimate.n == N and estimate.low <= estimate.value <= estimate.high for estimate in estimates)
    for metric in task.metrics:
        comparison = metric.compare(outcomes, outcomes)
        assert (comparison.difference, comparison.p_value) == (0, 1)


def test_unlike_outcomes_are_not_compared():
    one = Outcomes("t", "test", np.arange(3), {})
    for other in (replace(one, split="development"), replace(one, task="u"), replace(one, indices=np.arange(1, 4))):
        with pytest.raises(ValueError, match="a pair needs the same examples"):
            check_paired(one, other)


def test_splits_say_what_there_is():
    splits = Splits.of([1, 2], [3], [4])
    assert splits.first("calibration", 1) == (1,)
    with pytest.raises(ValueError, match="no split 'train'"):
        splits.first("train")
