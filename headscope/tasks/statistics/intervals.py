"""95 % intervals: Wilson for a share of right answers, the percentile bootstrap for everything that is made of sums."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]

Z95 = 1.959963984540054
"""The 97.5 % quantile of the standard normal distribution."""

RESAMPLES = 1000
TAIL = 25
"""Resampled values left out on either side of a 95 % interval: 2.5 % of RESAMPLES."""

BLOCK = 2**22
"""Draws held in memory at a time."""


@dataclass(frozen=True)
class Estimate:
    """A metric on a sample of size n, with its 95 % interval and the method that gave the interval."""

    metric: str
    value: float
    low: float
    high: float
    n: int
    method: str


@dataclass(frozen=True, eq=False)
class Additive:
    """A metric on a sample, as a function of the sums of per-example statistics.

    per_example is [example, k]; statistic turns sums [resample, k] into values [resample].
    """

    metric: str
    per_example: Array
    statistic: Callable[[Array], Array] = field(repr=False)

    def __post_init__(self) -> None:
        if self.per_example.ndim != 2 or not len(self.per_example):
            raise ValueError(
                f"{self.metric}: statistics of shape {self.per_example.shape}; "
                "they need the shape [example, k] and at least one example"
            )

    @property
    def n(self) -> int:
        """Return the sample size."""
        return len(self.per_example)

    @property
    def value(self) -> float:
        """Return the metric on the sample itself."""
        return float(self.statistic(self.per_example.sum(axis=0, keepdims=True))[0])


def wilson(correct: int, n: int) -> tuple[float, float]:
    """Return the Wilson score interval for a share of correct out of n.

    (p + z²/2n ± z sqrt(p(1-p)/n + z²/4n²)) / (1 + z²/n), Wilson 1927.
    """
    if n < 1 or not 0 <= correct <= n:
        raise ValueError(f"{correct} correct of {n}; n must be at least 1 and correct between 0 and n")
    share, z2 = correct / n, Z95**2
    centre = share + z2 / (2 * n)
    half = Z95 * math.sqrt(share * (1 - share) / n + z2 / (4 * n * n))
    low = 0.0 if correct == 0 else (centre - half) / (1 + z2 / n)
    high = 1.0 if correct == n else (centre + half) / (1 + z2 / n)
    return low, high


def bootstrap(sample: Additive, seed: int = 0) -> Estimate:
    """Return the metric with its percentile bootstrap interval, widened where needed to contain the value itself."""
    value = sample.value
    low, high = percentiles(resampled_values(sample, seed))
    return Estimate(
        sample.metric,
        value,
        min(low, value),
        max(high, value),
        sample.n,
        f"bootstrap, {RESAMPLES} resamples, seed {seed}",
    )


def resampled_values(sample: Additive, seed: int) -> Array:
    """Return the metric on each resample; samples of the same size and seed are resampled alike, so they pair up."""
    sums = [counts @ sample.per_example for counts in _resample_counts(sample.n, seed)]
    return sample.statistic(np.concatenate(sums))


def percentiles(values: Array) -> tuple[float, float]:
    """Return the bounds that leave TAIL values out on either side; order statistics, so infinite values are allowed."""
    ordered = np.sort(values)
    return float(ordered[TAIL]), float(ordered[-1 - TAIL])


def mean(metric: str, values: Array) -> Additive:
    """Return the mean of a value per example."""
    return ratio(metric, values, np.ones_like(values))


def ratio(metric: str, numerators: Array, denominators: Array) -> Additive:
    """Return the ratio of two sums over examples."""
    return Additive(metric, np.stack([numerators, denominators], axis=1), lambda sums: sums[:, 0] / sums[:, 1])


def finite_vector(name: str, values: ArrayLike) -> Array:
    """Return the values as a vector of floats; a ValueError if there are none, or any is not finite."""
    vector = np.asarray(values, dtype=np.float64)
    if vector.ndim != 1 or not len(vector):
        raise ValueError(f"{name} of shape {vector.shape}; one number per example and at least one example are needed")
    broken = np.flatnonzero(~np.isfinite(vector))
    if len(broken):
        raise ValueError(f"{name} of example {broken[0]} is {vector[broken[0]]}; only finite numbers are allowed")
    return vector


def check_same_length(**sequences: Sequence[object] | NDArray[np.generic]) -> None:
    """Raise a ValueError that names the sequences and their lengths, unless all are equally long."""
    lengths = {name: len(sequence) for name, sequence in sequences.items()}
    if len(set(lengths.values())) > 1:
        raise ValueError(f"unequal lengths: {', '.join(f'{n} {name}' for name, n in lengths.items())}")


def _resample_counts(n: int, seed: int) -> Iterator[Array]:
    """Yield how often each example is drawn in each resample: blocks of [resample, example], RESAMPLES rows in all."""
    generator = np.random.default_rng(seed)
    rows = max(1, BLOCK // n)
    for start in range(0, RESAMPLES, rows):
        size = min(rows, RESAMPLES - start)
        drawn = generator.integers(0, n, size=(size, n)) + n * np.arange(size)[:, None]
        yield np.bincount(drawn.ravel(), minlength=size * n).reshape(size, n).astype(np.float64)
