"""Two masks on the same examples: whether the difference is more than chance.

Every difference is the second minus the first; every p-value is two-sided; every interval is at 95 %.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from headscope.tasks.statistics.intervals import (
    BLOCK,
    RESAMPLES,
    Z95,
    Additive,
    Array,
    check_same_length,
    finite_vector,
    mean,
    percentiles,
    resampled_values,
)

FLIPS = 9999


@dataclass(frozen=True)
class Comparison:
    """How far the second is above the first, and the probability of so much under no difference."""

    difference: float
    low: float
    high: float
    p_value: float
    n: int
    test: str


def mcnemar(first: ArrayLike, second: ArrayLike) -> Comparison:
    """Return the exact McNemar test on right or wrong per example, with the interval of Bonett and Price 2012.

    Under no difference, the examples that only one gets right are split by a fair coin.
    """
    right, also = _outcomes("first", first), _outcomes("second", second)
    check_same_length(first=right, second=also)
    n, lost, won = len(right), int((right & ~also).sum()), int((also & ~right).sum())
    low, high = _paired_share_interval(won, lost, n)
    return Comparison((won - lost) / n, low, high, _coin_p_value(won, lost), n, "exact McNemar")


def paired_bootstrap(first: Additive, second: Additive, seed: int = 0) -> Comparison:
    """Return the paired bootstrap of Koehn 2004: both on the same resamples of the examples.

    p = 2 (1 + min(#{d <= 0}, #{d >= 0})) / (1 + resamples). Differs: the paper counts one side only, without the 1.
    """
    if first.metric != second.metric or first.n != second.n:
        raise ValueError(
            f"{first.metric} on {first.n} examples and {second.metric} on {second.n}; "
            "a pair needs one metric on the same examples"
        )
    change = second.value - first.value
    changes = resampled_values(second, seed) - resampled_values(first, seed)
    low, high = percentiles(changes)
    test = f"paired bootstrap, {RESAMPLES} resamples, seed {seed}"
    return Comparison(change, min(low, change), max(high, change), _tail_p_value(changes), first.n, test)


def sign_flip(first: ArrayLike, second: ArrayLike, seed: int = 0) -> Comparison:
    """Return the paired permutation test on the mean of a loss per example, with a bootstrap interval.

    Under no difference, each example's difference is as likely to have the other sign.
    """
    before, after = finite_vector("first loss", first), finite_vector("second loss", second)
    check_same_length(first=before, second=after)
    changes = after - before
    sample = mean("loss", changes)
    low, high = percentiles(resampled_values(sample, seed))
    test = f"sign flip, {FLIPS} permutations, seed {seed}"
    change = sample.value
    return Comparison(change, min(low, change), max(high, change), _flip_p_value(changes, seed), len(changes), test)


def _outcomes(name: str, values: ArrayLike) -> NDArray[np.bool_]:
    outcomes = np.asarray(values)
    if outcomes.ndim != 1 or not len(outcomes) or outcomes.dtype != np.bool_:
        raise ValueError(
            f"{name} outcomes of shape {outcomes.shape} and type {outcomes.dtype}; "
            "one true or false per example and at least one example are needed"
        )
    return outcomes


def _coin_p_value(won: int, lost: int) -> float:
    """Return 2 sum_{i <= min(won, lost)} C(won + lost, i) / 2^(won + lost), in logarithms so that no term overflows."""
    tosses, fewer = won + lost, min(won, lost)
    steps = np.log(np.arange(tosses, tosses - fewer, -1) / np.arange(1, fewer + 1))
    log_terms = np.concatenate([[0.0], np.cumsum(steps)]) - tosses * math.log(2)
    return min(1.0, 2 * math.exp(np.logaddexp.reduce(log_terms)))


def _paired_share_interval(won: int, lost: int, n: int) -> tuple[float, float]:
    """Return d ± z sqrt((w + l - d²) / (n + 2)), with w = (won + 1) / (n + 2), l = (lost + 1) / (n + 2), d = w - l."""
    up, down = (won + 1) / (n + 2), (lost + 1) / (n + 2)
    half = Z95 * math.sqrt((up + down - (up - down) ** 2) / (n + 2))
    return max(-1.0, up - down - half), min(1.0, up - down + half)


def _tail_p_value(changes: Array) -> float:
    fewer = min(int((changes <= 0).sum()), int((changes >= 0).sum()))
    return min(1.0, 2 * (1 + fewer) / (1 + len(changes)))


def _flip_p_value(changes: Array, seed: int) -> float:
    """Return (1 + flips with a sum at least as far from 0) / (1 + FLIPS)."""
    generator = np.random.default_rng(seed)
    observed = abs(changes.sum())
    rounding = 1e-12 * np.abs(changes).sum()
    rows = max(1, BLOCK // len(changes))
    as_far = 0
    for start in range(0, FLIPS, rows):
        size = min(rows, FLIPS - start)
        heads = generator.integers(0, 2, size=(size, len(changes)), dtype=np.int8)
        sums = (2.0 * heads - 1.0) @ changes
        as_far += int((np.abs(sums) >= observed - rounding).sum())
    return (1 + as_far) / (1 + FLIPS)
