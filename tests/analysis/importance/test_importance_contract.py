"""What holds of every importance method in the registry, whoever wrote it, on every kind of model."""

from __future__ import annotations

import math
import typing
from dataclasses import dataclass, fields
from functools import cache
from typing import Any, Literal

import pytest
import torch
from torch import Tensor

from headscope.analysis.importance.method import Method, combined, method_of, methods, portions, score
from headscope.analysis.importance.scores import Scores
from headscope.models.gating import install
from headscope.models.head_model import HeadModel
from headscope.models.heads import HeadId
from headscope.pruning.masks import HeadMask
from headscope.pruning.surgery import without_heads
from tests.analysis.hand_wired import hand_wired
from tests.analysis.subjects import KINDS, WITHOUT_TEXT_HEAD, N, subject

FEW_STEPS = 8
"""A path in so many steps keeps the same rules as one in 64; how near it comes to the integral is tested elsewhere."""


def variants(method: type[Method]) -> list[Method]:
    """The method as it comes, but in few steps, and with every other choice that one of its options has."""
    hints = typing.get_type_hints(method)
    few = {option.name: FEW_STEPS for option in fields(method) if option.name == "steps"}  # type: ignore[arg-type]
    changed = [
        method(**{option.name: choice}, **few)
        for option in fields(method)  # type: ignore[arg-type]
        if typing.get_origin(hints[option.name]) is Literal
        for choice in typing.get_args(hints[option.name])
        if choice != option.default
    ]
    return [method(**few), *changed]


COMPUTED = [variant for method in methods().values() if not method.needs_run for variant in variants(method)]
OF_A_RUN = [method for method in methods().values() if method.needs_run]
EVERY_METHOD = pytest.mark.parametrize("method", COMPUTED, ids=str)
EVERY_KIND = pytest.mark.parametrize("kind", [*KINDS, *WITHOUT_TEXT_HEAD])


@dataclass(frozen=True, eq=False)
class Run:
    scores: Scores
    weights: tuple[Tensor, Tensor]
    settings: tuple[dict[str, Any], dict[str, Any]]


@cache
def first_run(kind: str, method: Method) -> Run:
    head_model, task = subject(kind)
    install(head_model)
    weights, settings = weights_of(head_model), settings_of(head_model)
    scores = score(method, head_model, task, n=N)
    return Run(scores, (weights, weights_of(head_model)), (settings, settings_of(head_model)))


def weights_of(head_model: HeadModel) -> Tensor:
    return torch.cat([value.detach().flatten() for value in head_model.model.parameters()])


def settings_of(head_model: HeadModel) -> dict[str, Any]:
    """All but weights that a method could leave behind in a model."""
    model = head_model.model
    return {
        "trained": [name for name, parameter in model.named_parameters() if parameter.requires_grad],
        "gradients": [name for name, parameter in model.named_parameters() if parameter.grad is not None],
        "hooks": {name: [list(hooks) for hooks in hooks_of(module)] for name, module in model.named_modules()},
        "training": [module.training for module in model.modules()],
        "attention": [module.config._attn_implementation for module in model.modules() if hasattr(module, "config")],
    }


def hooks_of(module: torch.nn.Module) -> list[dict[int, Any]]:
    return [
        module._forward_pre_hooks,
        module._forward_hooks,
        module._backward_pre_hooks,
        module._backward_hooks,
    ]


@EVERY_METHOD
@EVERY_KIND
def test_every_head_has_one_finite_score_and_error(kind: str, method: Method) -> None:
    scores = first_run(kind, method).scores
    grid = subject(kind)[0].grid
    assert tuple(scores.values) == tuple(scores.errors) == grid.heads
    assert all(map(math.isfinite, [*scores.values.values(), *scores.errors.values()]))
    assert all(error >= 0 for error in scores.errors.values())
    assert scores.n == N


@EVERY_METHOD
@EVERY_KIND
def test_heads_of_random_models_differ_and_only_signed_scores_are_negative(kind: str, method: Method) -> None:
    values = list(first_run(kind, method).scores.values.values())
    assert len(set(values)) > len(values) / 2
    assert method.signed or min(values) >= 0


@EVERY_METHOD
@EVERY_KIND
def test_the_model_is_left_as_it_was(kind: str, method: Method) -> None:
    run = first_run(kind, method)
    assert torch.equal(*run.weights)
    before, after = run.settings
    assert after == before
    assert after["gradients"] == []


@EVERY_METHOD
@EVERY_KIND
def test_a_second_run_and_a_run_in_batches_of_one_row_give_the_same(kind: str, method: Method) -> None:
    head_model, task = subject(kind)
    expected = first_run(kind, method).scores
    assert score(method, head_model, task, n=N) == expected
    rows = list(portions(method, head_model, task, task.batches(head_model, "calibration", N, budget=1)))
    assert len(rows) >= N
    alone = combined(method, head_model.grid, rows[::-1])
    assert alone.values == pytest.approx(expected.values, rel=1e-6, abs=1e-9)
    assert alone.errors == pytest.approx(expected.errors, rel=1e-5, abs=1e-9)


@EVERY_METHOD
@pytest.mark.parametrize("kind", ["encoder", "grouped", "seq2seq"])
def test_heads_removed_for_good_score_nothing(kind: str, method: Method) -> None:
    head_model, task = subject(kind)
    last = head_model.grid.banks[-1].bank
    gone = {head for head in head_model.grid if (head.layer, head.head) in {(0, 0), (2, 1), (2, 2)}}
    gone |= {head for head in head_model.grid if (head.bank, head.layer) == (last, 1)}
    smaller = without_heads(head_model, HeadMask(head_model.grid, frozenset(gone)))
    assert smaller.removed == gone
    scores = score(method, smaller, task, n=2)
    assert {head for head, value in scores.values.items() if value == 0} >= gone
    assert {head for head in gone if scores.errors[head]} == set()
    assert any(scores.values[head] for head in head_model.grid if head not in gone)


@EVERY_METHOD
def test_the_head_that_does_the_task_comes_first(method: Method) -> None:
    if method.key == "random":
        pytest.skip("the control knows nothing")
    head_model, task, important = hand_wired()
    values = score(method, head_model, task, n=8).values
    assert max(values, key=lambda head: values[head]) == important


def test_the_hand_wired_model_does_its_task_by_that_head_alone() -> None:
    head_model, task, important = hand_wired()
    others = frozenset(head for head in head_model.grid if head.layer == 0 or head == HeadId("encoder", 1, 0))
    accuracies = [
        task.estimates(task.outcomes(without_heads(head_model, HeadMask(head_model.grid, gone)), "test"))[0].value
        for gone in (frozenset(), others, frozenset({important}))
    ]
    assert accuracies == [1.0, 1.0, 0.5]


@pytest.mark.parametrize("method", methods().values(), ids=lambda method: method.key)
def test_a_method_says_what_it_is(method: type[Method]) -> None:
    assert method_of(method.key) is method
    for text in (method.title, method.reference, method.about):
        assert text and text == text.strip()
    assert method.about.endswith(".")
    assert method.__doc__
    for option in fields(method):  # type: ignore[arg-type]
        assert option.metadata["about"].endswith("."), option.name
    assert hash(method()) == hash(method())


@pytest.mark.parametrize("method", OF_A_RUN, ids=lambda method: method.key)
def test_a_method_that_reads_a_run_says_so_and_computes_nothing(method: type[Method]) -> None:
    head_model, task = subject("encoder")
    with pytest.raises(ValueError, match=f"needs {method.needs_run}; there is none for this model on this task yet"):
        score(method(), head_model, task, n=N)


def test_numbers_made_of_priors_are_marked_as_ours() -> None:
    assert method_of("fiak").reference.startswith("ours")


def test_an_unknown_method_is_refused_with_those_there_are() -> None:
    with pytest.raises(KeyError, match=r"no importance method 'nothing'; known: .*gradient"):
        method_of("nothing")
