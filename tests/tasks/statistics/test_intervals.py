"""Intervals: textbook formulas, coverage, and equality with literal resampling."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headscope.tasks.statistics import intervals
from headscope.tasks.statistics.intervals import (
    RESAMPLES,
    Additive,
    bootstrap,
    check_same_length,
    finite_vector,
    mean,
    percentiles,
    ratio,
    resampled_values,
    wilson,
)


def literal_resamples(n: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, n, size=(RESAMPLES, n))


def test_wilson_for_8_of_10_is_the_textbook_interval() -> None:
    z = 1.959963984540054
    middle = 0.8 + z * z / 20
    half = z * math.sqrt(0.8 * 0.2 / 10 + z * z / 400)
    low, high = wilson(8, 10)
    assert low == pytest.approx((middle - half) / (1 + z * z / 10), abs=1e-15)
    assert high == pytest.approx((middle + half) / (1 + z * z / 10), abs=1e-15)
    assert (round(low, 3), round(high, 3)) == (0.490, 0.943)


def test_wilson_bounds_solve_the_score_equation() -> None:
    for correct, n in [(1, 3), (8, 10), (50, 100), (999, 1000)]:
        for bound in wilson(correct, n):
            distance = abs(correct / n - bound) / math.sqrt(bound * (1 - bound) / n)
            assert distance == pytest.approx(1.959963984540054, rel=1e-9)


def test_wilson_touches_0_and_1_exactly_when_none_or_all_are_right() -> None:
    for n in range(1, 60):
        assert wilson(0, n)[0] == 0.0
        assert wilson(n, n)[1] == 1.0


@given(st.integers(1, 10**6).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_wilson_contains_the_share_and_mirrors(case: tuple[int, int]) -> None:
    correct, n = case
    low, high = wilson(correct, n)
    assert 0 <= low <= correct / n <= high <= 1
    assert wilson(n - correct, n) == pytest.approx((1 - high, 1 - low), abs=1e-12)


@pytest.mark.parametrize(("correct", "n"), [(0, 0), (-1, 5), (6, 5)])
def test_wilson_refuses_impossible_counts(correct: int, n: int) -> None:
    with pytest.raises(ValueError, match=f"{correct} correct of {n}; n must be"):
        wilson(correct, n)


def test_the_fast_bootstrap_of_a_mean_equals_a_literal_loop() -> None:
    values = np.random.default_rng(1).normal(size=37)
    literal = [values[drawn].mean() for drawn in literal_resamples(37, seed=5)]
    np.testing.assert_allclose(resampled_values(mean("m", values), seed=5), literal, rtol=1e-12)


def test_the_fast_bootstrap_of_a_ratio_of_sums_equals_a_literal_loop() -> None:
    generator = np.random.default_rng(2)
    above, below = generator.normal(size=50), generator.integers(1, 9, size=50).astype(float)
    literal = [above[drawn].sum() / below[drawn].sum() for drawn in literal_resamples(50, seed=0)]
    np.testing.assert_allclose(resampled_values(ratio("r", above, below), seed=0), literal, rtol=1e-10)


def test_the_interval_leaves_25_resampled_values_out_on_either_side() -> None:
    values = np.random.default_rng(3).normal(size=80)
    literal = sorted(values[drawn].mean() for drawn in literal_resamples(80, seed=0))
    estimate = bootstrap(mean("m", values))
    assert (estimate.low, estimate.high) == pytest.approx((literal[25], literal[974]), rel=1e-12)


def test_the_bootstrap_interval_covers_a_normal_mean_about_95_times_in_100() -> None:
    generator = np.random.default_rng(0)
    estimates = [bootstrap(mean("m", generator.normal(3.0, 2.0, size=100)), seed) for seed in range(400)]
    coverage = np.mean([estimate.low <= 3.0 <= estimate.high for estimate in estimates])
    width = np.mean([estimate.high - estimate.low for estimate in estimates])
    assert 0.91 <= coverage <= 0.98
    assert width == pytest.approx(2 * 1.96 * 2.0 / 10, rel=0.05)


def test_the_interval_is_the_same_for_a_seed_and_another_for_another() -> None:
    sample = mean("m", np.random.default_rng(4).normal(size=30))
    assert bootstrap(sample, 7) == bootstrap(sample, 7)
    assert bootstrap(sample, 7).low != bootstrap(sample, 8).low


def test_a_sample_drawn_in_many_blocks_is_resampled_as_in_one(monkeypatch: pytest.MonkeyPatch) -> None:
    sample = mean("m", np.random.default_rng(5).normal(size=64))
    whole = resampled_values(sample, seed=0)
    monkeypatch.setattr(intervals, "BLOCK", 64 * 7)
    assert {counts.shape for counts in intervals._resample_counts(64, seed=0)} == {(7, 64), (1000 % 7, 64)}
    np.testing.assert_allclose(resampled_values(sample, seed=0), whole, rtol=1e-12)


def test_the_method_says_resamples_and_seed() -> None:
    estimate = bootstrap(mean("loss", np.array([1.0, 2.0])), seed=3)
    assert (estimate.metric, estimate.n, estimate.method) == ("loss", 2, "bootstrap, 1000 resamples, seed 3")


def test_an_interval_contains_its_value_even_where_the_bootstrap_is_biased() -> None:
    distinct = Additive("distinct", np.eye(20), lambda sums: (sums > 0).sum(axis=1).astype(float))
    absent = Additive("absent", np.eye(20), lambda sums: (sums == 0).sum(axis=1).astype(float))
    assert percentiles(resampled_values(distinct, 0))[1] < 20
    assert bootstrap(distinct).value == bootstrap(distinct).high == 20
    assert bootstrap(absent).value == bootstrap(absent).low == 0


def test_infinite_resamples_give_infinite_bounds_without_a_warning() -> None:
    assert percentiles(np.array([1.0] * 500 + [math.inf] * 500)) == (1.0, math.inf)


@pytest.mark.parametrize("shape", [(0, 2), (3,)])
def test_statistics_of_no_example_or_another_shape_are_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match=r"at least one example"):
        Additive("m", np.zeros(shape), lambda sums: sums[:, 0])


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_a_value_that_is_not_finite_is_named_by_its_place(bad: float) -> None:
    with pytest.raises(ValueError, match=f"loss of example 1 is {bad}; only finite"):
        finite_vector("loss", [0.0, bad])


@pytest.mark.parametrize("values", [[], [[1.0]]])
def test_a_vector_needs_one_number_per_example(values: list[float]) -> None:
    with pytest.raises(ValueError, match=r"loss of shape .*; one number per example and at least one example"):
        finite_vector("loss", values)


def test_unequal_lengths_are_named() -> None:
    with pytest.raises(ValueError, match="unequal lengths: 1 left, 2 right"):
        check_same_length(left=[1], right=[1, 2])
