from __future__ import annotations

import numpy as np
import pytest

from headscope.analysis.importance.method import Portion, portions
from headscope.analysis.importance.methods.gradient import Gradient
from headscope.analysis.importance.stability import stability
from headscope.models.heads import HeadBank, HeadGrid, LayerHeads
from tests.analysis.subjects import subject

GRID = HeadGrid((HeadBank("encoder", (LayerHeads(tuple(range(20))),) * 5),))
METHOD = Gradient()


def found(signal: float, noise: float, n: int = 40) -> list[Portion]:
    """Scores of 100 heads in which only `signal` is the same for all examples."""
    generator = np.random.default_rng(0)
    values = signal * generator.random(len(GRID)) + noise * generator.random((n, len(GRID)))
    return [Portion((place,), row[None], np.ones(1)) for place, row in enumerate(values)]


def test_examples_that_all_say_the_same_are_perfectly_stable() -> None:
    result = stability(METHOD, GRID, found(1, 0))
    assert [result.mean, result.low, result.high] == pytest.approx([1, 1, 1])
    assert (result.n_splits, result.n) == (20, 40)


def test_examples_that_have_nothing_in_common_are_not_stable_at_all() -> None:
    result = stability(METHOD, GRID, found(0, 1), n_splits=100)
    assert abs(result.mean) < 0.1
    assert result.low < 0 < result.high


def test_more_noise_is_less_stable_and_the_interval_holds_the_mean() -> None:
    little, much = (stability(METHOD, GRID, found(1, noise)) for noise in (2, 8))
    assert much.mean < little.mean - 0.1
    for result in (little, much):
        assert result.low < result.mean < result.high


def test_halves_share_no_example_even_if_it_was_read_in_parts() -> None:
    """Two parts of an example say the same; were they apart, two examples of noise would agree now and then."""
    (first, second), parts = found(0, 1, n=2), 4
    twice = [
        Portion(portion.indices * parts, portion.values.repeat(parts, 0), np.ones(parts)) for portion in (first, second)
    ]
    assert stability(METHOD, GRID, twice) == stability(METHOD, GRID, [first, second])


def test_it_is_computed_from_what_a_run_left() -> None:
    head_model, task = subject("encoder")
    run = list(portions(METHOD, head_model, task, task.batches(head_model, "calibration", 8, budget=20)))
    result = stability(METHOD, head_model.grid, run)
    assert result.n == 8
    assert result == stability(METHOD, head_model.grid, run[::-1])
    assert result != stability(METHOD, head_model.grid, run, seed=1)


def test_one_example_has_no_halves() -> None:
    with pytest.raises(ValueError, match="20 halvings of 1 examples; at least 1 of 2 is needed"):
        stability(METHOD, GRID, found(1, 0, n=1))
