"""Paired tests: exact sums, literal resampling, and the rate of false alarms."""

import itertools
import math
from collections.abc import Callable

import numpy as np
import pytest

from headscope.tasks.statistics import paired_tests
from headscope.tasks.statistics.intervals import mean, ratio, resampled_values
from headscope.tasks.statistics.metrics import bleu_sums, chrf_sums
from headscope.tasks.statistics.paired_tests import Comparison, mcnemar, paired_bootstrap, sign_flip


def outcomes(both: int, only_first: int, only_second: int, neither: int) -> tuple[list[bool], list[bool]]:
    first = [True] * both + [True] * only_first + [False] * only_second + [False] * neither
    second = [True] * both + [False] * only_first + [True] * only_second + [False] * neither
    return first, second


@pytest.mark.parametrize(("lost", "won"), [(0, 0), (1, 0), (5, 0), (2, 8), (8, 2), (4, 4), (30, 51)])
def test_mcnemar_is_the_two_sided_binomial_sum(lost: int, won: int) -> None:
    tosses = lost + won
    tail = sum(math.comb(tosses, i) for i in range(min(lost, won) + 1))
    comparison = mcnemar(*outcomes(7, lost, won, 5))
    assert comparison.p_value == pytest.approx(min(1.0, 2 * tail / 2**tosses), rel=1e-12)
    assert comparison.difference == pytest.approx((won - lost) / (12 + tosses))
    assert comparison.n == 12 + tosses


def test_mcnemar_with_2_against_8_has_the_p_value_of_the_tables() -> None:
    assert mcnemar(*outcomes(0, 2, 8, 0)).p_value == pytest.approx(2 * (1 + 10 + 45) / 1024)


def test_mcnemar_bounds_are_those_of_bonett_and_price() -> None:
    comparison = mcnemar(*outcomes(60, 5, 15, 20))
    up, down = 16 / 102, 6 / 102
    half = 1.959963984540054 * math.sqrt((up + down - (up - down) ** 2) / 102)
    assert (comparison.low, comparison.high) == pytest.approx((up - down - half, up - down + half))


def test_mcnemar_bounds_contain_the_difference() -> None:
    for counts in itertools.product(range(4), repeat=4):
        if sum(counts):
            comparison = mcnemar(*outcomes(*counts))
            assert -1 <= comparison.low <= comparison.difference <= comparison.high <= 1


def test_mcnemar_of_many_examples_neither_overflows_nor_underflows() -> None:
    assert mcnemar(*outcomes(0, 50_000, 50_000, 0)).p_value == 1.0
    assert 0 <= mcnemar(*outcomes(0, 0, 100_000, 0)).p_value < 1e-300


def test_the_paired_bootstrap_draws_the_same_examples_for_both() -> None:
    values = np.random.default_rng(0).normal(size=40)
    comparison = paired_bootstrap(mean("m", values), mean("m", values + 0.25))
    assert (comparison.low, comparison.high) == pytest.approx((0.25, 0.25))
    assert comparison.difference == pytest.approx(0.25)


def test_the_paired_bootstrap_equals_a_literal_loop() -> None:
    generator = np.random.default_rng(1)
    first, second = generator.normal(size=30), generator.normal(0.2, size=30)
    length = generator.integers(1, 9, size=30).astype(np.float64)
    differences = [
        second[drawn].sum() / length[drawn].sum() - first[drawn].sum() / length[drawn].sum()
        for drawn in np.random.default_rng(0).integers(0, 30, size=(1000, 30))
    ]
    below, above = sum(d <= 0 for d in differences), sum(d >= 0 for d in differences)
    comparison = paired_bootstrap(ratio("r", first, length), ratio("r", second, length))
    assert comparison.p_value == pytest.approx(2 * (1 + min(below, above)) / 1001)
    assert (comparison.low, comparison.high) == pytest.approx((sorted(differences)[25], sorted(differences)[974]))


def test_the_paired_bootstrap_sees_a_better_translation() -> None:
    references = [f"der Hund {n} schläft heute im Garten ." for n in range(60)]
    worse = [text.replace("heute", "morgen") if n % 2 else text for n, text in enumerate(references)]
    for sums in (bleu_sums, chrf_sums):
        comparison = paired_bootstrap(sums(worse, references), sums(references, references))
        assert comparison.low > 0
        assert comparison.p_value == pytest.approx(2 / 1001)
        assert comparison.test == "paired bootstrap, 1000 resamples, seed 0"


def test_swapping_the_two_turns_the_sign_and_keeps_the_p_value() -> None:
    generator = np.random.default_rng(2)
    first, second = generator.normal(size=50), generator.normal(0.1, size=50)
    pairs: list[Callable[[bool], Comparison]] = [
        lambda swap: mcnemar(*((second > 0, first > 0) if swap else (first > 0, second > 0))),
        lambda swap: sign_flip(*((second, first) if swap else (first, second))),
        lambda swap: paired_bootstrap(mean("m", second if swap else first), mean("m", first if swap else second)),
    ]
    for compare in pairs:
        forth, back = compare(False), compare(True)
        assert (back.difference, back.p_value) == pytest.approx((-forth.difference, forth.p_value))
        assert (back.low, back.high) == pytest.approx((-forth.high, -forth.low))


def test_nothing_differs_from_itself() -> None:
    values = np.random.default_rng(3).normal(size=20)
    for comparison in (sign_flip(values, values), paired_bootstrap(mean("m", values), mean("m", values))):
        assert (comparison.difference, comparison.low, comparison.high, comparison.p_value) == (0, 0, 0, 1)
    comparison = mcnemar(values > 0, values > 0)
    assert (comparison.difference, comparison.p_value) == (0, 1)
    assert comparison.low == -comparison.high < 0


def test_the_sign_flip_test_comes_near_the_enumeration_of_all_signs() -> None:
    changes = np.array([0.3, -0.1, 0.8, 0.4, 0.0, 0.5, -0.2, 0.9, 0.1, 0.35])
    sums = [abs(np.dot(signs, changes)) for signs in itertools.product((-1, 1), repeat=len(changes))]
    exact = np.mean([total >= changes.sum() - 1e-12 for total in sums])
    comparison = sign_flip(np.ones(10), 1 + changes)
    assert comparison.p_value == pytest.approx(exact, abs=4 * math.sqrt(exact / paired_tests.FLIPS))
    assert comparison.difference == pytest.approx(changes.mean())
    bootstrap = np.sort(resampled_values(mean("m", changes), 0))
    assert (comparison.low, comparison.high) == pytest.approx((bootstrap[25], bootstrap[974]))


def test_the_sign_flip_test_is_the_same_in_many_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    changes = np.random.default_rng(4).normal(0.2, size=64)
    whole = sign_flip(np.zeros(64), changes).p_value
    monkeypatch.setattr(paired_tests, "BLOCK", 64 * 1000)
    assert sign_flip(np.zeros(64), changes).p_value == pytest.approx(whole, abs=0.01)


@pytest.mark.parametrize("test", ["sign flip", "bootstrap"])
def test_about_5_in_100_comparisons_of_equals_are_called_different(test: str) -> None:
    generator = np.random.default_rng(5)
    alarms = 0
    for _ in range(150):
        first, second = generator.normal(size=(2, 60))
        if test == "sign flip":
            alarms += sign_flip(first, second).p_value < 0.05
        else:
            alarms += paired_bootstrap(mean("m", first), mean("m", second)).p_value < 0.05
    assert 1 <= alarms <= 17


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: mcnemar([], []), "at least one example are needed"),
        (lambda: mcnemar([True], [True, False]), "unequal lengths: 1 first, 2 second"),
        (lambda: mcnemar([1.0], [math.nan]), "type float64; one true or false per example"),
        (lambda: sign_flip([], []), "at least one example are needed"),
        (lambda: sign_flip([1.0], [1.0, 2.0]), "unequal lengths: 1 first, 2 second"),
        (lambda: sign_flip([1.0], [math.nan]), "second loss of example 0 is nan"),
        (
            lambda: paired_bootstrap(mean("m", np.ones(2)), mean("m", np.ones(3))),
            "m on 2 examples and m on 3; a pair needs one metric on the same examples",
        ),
        (lambda: paired_bootstrap(mean("a", np.ones(2)), mean("b", np.ones(2))), "a on 2 examples and b on 2"),
    ],
)
def test_what_is_no_pair_is_refused_in_words(call: Callable[[], Comparison], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()
