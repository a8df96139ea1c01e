"""The three estimators against central differences, one example at a time."""

from __future__ import annotations

import math
from functools import cache

import pytest

from headscope.analysis.importance.method import score
from headscope.analysis.importance.methods.gradient import Gradient
from headscope.analysis.importance.scores import Scores, levelled
from headscope.models.heads import HeadId
from headscope.pruning.masks import HeadMask
from headscope.pruning.surgery import without_heads
from headscope.tasks.language_modelling import READINGS
from tests.analysis.subjects import KINDS, WRITING, subject
from tests.reference.derivatives import derivative, n_positions
from tests.tasks.tiny import filler

EVERY_KIND = pytest.mark.parametrize("kind", KINDS)
N = 3


@cache
def derivatives(kind: str) -> dict[HeadId, list[float]]:
    """dL(x)/dg_h, head after head, example after example in the order of the split."""
    head_model, task = subject(kind)
    examples = sorted(task.batches(head_model, "calibration", N, budget=1), key=lambda batch: batch.indices)
    return {head: [derivative(head_model, task, example, head) for example in examples] for head in head_model.grid}


def close(kind: str, expected: dict[HeadId, float]) -> object:
    """Equal but for the error of differences; Llama computes its norms in single precision, whatever it is given."""
    return (
        pytest.approx(expected, rel=1e-3, abs=1e-4)
        if kind == "grouped"
        else pytest.approx(expected, rel=1e-5, abs=1e-7)
    )


@EVERY_KIND
def test_example_takes_the_absolute_value_of_every_example(kind: str) -> None:
    scores = score(Gradient(), *subject(kind), n=N)
    expected = {head: sum(map(abs, found)) / N for head, found in derivatives(kind).items()}
    assert scores.values == close(kind, expected)


@EVERY_KIND
def test_batch_takes_the_absolute_value_of_every_group_of_neighbours(kind: str) -> None:
    scores = score(Gradient("batch", group=2), *subject(kind), n=N)
    expected = {head: (abs(x + y) + abs(z)) / N for head, (x, y, z) in derivatives(kind).items()}
    assert scores.values == close(kind, expected)
    assert scores.n == N


@EVERY_KIND
def test_token_takes_the_absolute_value_at_every_position(kind: str) -> None:
    head_model, task = subject(kind)
    heads = [head for head in head_model.grid if head.head == 1 and head.layer < 2]
    examples = list(task.batches(head_model, "calibration", 2, budget=1))
    expected = {
        head: sum(
            abs(derivative(head_model, task, example, head, position))
            for example in examples
            for position in range(n_positions(head_model, task, example, head))
        )
        / 2
        for head in heads
    }
    scores = score(Gradient("token"), head_model, task, n=2)
    assert {head: scores.values[head] for head in heads} == close(kind, expected)


@EVERY_KIND
def test_the_less_may_cancel_the_higher_the_score(kind: str) -> None:
    batch, example, token = (
        score(Gradient(estimator, group=N), *subject(kind), n=N).values for estimator in ("batch", "example", "token")
    )
    assert all(batch[head] <= example[head] * (1 + 1e-9) for head in batch)
    assert all(example[head] <= token[head] * (1 + 1e-9) for head in batch)
    assert sum(batch.values()) < 0.9 * sum(example.values()) < 0.9 * sum(token.values())


def test_groups_of_one_are_examples() -> None:
    alone, example = (score(Gradient(*options), *subject("decoder"), n=4) for options in [("batch", "raw", 1), ()])
    assert alone.values == pytest.approx(example.values)
    assert alone.errors == pytest.approx(example.errors)


def test_a_group_of_no_example_is_refused() -> None:
    with pytest.raises(ValueError, match="groups of 0 examples; at least 1 is needed"):
        Gradient(group=0)


@EVERY_KIND
def test_by_layer_every_layer_of_every_bank_has_norm_one_and_keeps_its_order(kind: str) -> None:
    grid = subject(kind)[0].grid
    raw, by_layer = (score(Gradient(scale=scale), *subject(kind), n=N) for scale in ("raw", "layer"))
    for bank in grid.banks:
        for layer in range(len(bank.layers)):
            heads = grid.layer(bank.bank, layer)
            assert sum(by_layer.values[head] ** 2 for head in heads) == pytest.approx(1)
            norm = math.sqrt(sum(raw.values[head] ** 2 for head in heads))
            assert [by_layer.values[head] * norm for head in heads] == pytest.approx([raw.values[h] for h in heads])
            assert [by_layer.errors[head] * norm for head in heads] == pytest.approx([raw.errors[h] for h in heads])


@pytest.mark.parametrize("estimator", ["example", "token", "batch"])
@pytest.mark.parametrize("frozen", [False, True])
def test_heads_that_the_loss_no_longer_depends_on_score_nothing(estimator: str, frozen: bool) -> None:
    head_model, task = subject("seq2seq")
    gone = frozenset(head for head in head_model.grid if head.bank != "encoder")
    deaf = without_heads(head_model, HeadMask(head_model.grid, gone))
    deaf.model.requires_grad_(not frozen)
    assert set(score(Gradient(estimator), deaf, task, n=2).values.values()) == {0.0}  # type: ignore[arg-type]


def test_a_layer_of_zeros_is_left_alone() -> None:
    grid = subject("encoder")[0].grid
    nothing = Scores(dict.fromkeys(grid, 0.0), dict.fromkeys(grid, 0.0), 1)
    assert levelled(nothing, grid) == nothing


def test_the_error_is_the_standard_error_over_examples() -> None:
    scores = score(Gradient(), *subject("encoder"), n=N)
    for head, found in derivatives("encoder").items():
        sizes = [abs(number) for number in found]
        variance = sum((size - sum(sizes) / N) ** 2 for size in sizes) / (N - 1)
        assert scores.errors[head] == pytest.approx(math.sqrt(variance / N), rel=1e-4, abs=1e-8)


def test_the_gaps_of_one_text_are_one_example() -> None:
    head_model = filler()
    rows = list(WRITING.batches(head_model, "calibration", 2, budget=1))
    assert [row.indices for row in rows].count((1,)) == READINGS
    scores = score(Gradient(), head_model, WRITING, n=2)
    assert scores.n == 2
    head = HeadId("encoder", 1, 1)
    gaps: dict[int, list[float]] = {0: [], 1: []}
    for row in rows:
        gaps[row.indices[0]].append(abs(derivative(head_model, WRITING, row, head)))
    total = sum(map(len, gaps.values()))
    mean = sum(map(sum, gaps.values())) / total
    assert scores.values[head] == pytest.approx(mean, rel=1e-5)
    error = math.sqrt(2 * sum(sum(size - mean for size in sizes) ** 2 for sizes in gaps.values())) / total
    assert scores.errors[head] == pytest.approx(error, rel=1e-4)
