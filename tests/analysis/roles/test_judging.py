"""Verdicts: thresholds on both halves, and luck accounted for over all heads and cases."""

from __future__ import annotations

import random
from math import comb

import pytest
from torch import Tensor

from headscope.analysis.roles.methods.end_mark import EndMark
from headscope.analysis.roles.methods.syntactic import Syntactic
from headscope.analysis.roles.role import Trial, holm, judged, role_of, roles, sign_test
from headscope.analysis.roles.sample import Reading
from headscope.models.heads import HeadId
from tests.analysis.roles import wired

HEAD = HeadId("encoder", 0, 0)


def trial(case: str, first: float, second: float, p: float = 0.0, head: HeadId = HEAD) -> Trial:
    return Trial(head, case, (first, second), (0.5, 0.5), 100, p)


@pytest.mark.parametrize(("wins", "losses"), [(0, 0), (5, 0), (0, 5), (13, 8), (300, 250)])
def test_the_sign_test_is_the_tail_of_fair_coins(wins: int, losses: int) -> None:
    n = wins + losses
    exact = sum(comb(n, k) for k in range(wins, n + 1)) / 2**n
    assert sign_test(wins, losses) == pytest.approx(exact, rel=1e-9)


def test_holm_divides_the_rate_by_the_tests_that_are_left_and_stops_at_the_first_that_fails() -> None:
    assert holm([0.004, 0.003, 0.02, 0.0125], 0.05) == [True, True, True, True]
    assert holm([0.03, 0.01, 0.026], 0.05) == [False, True, False]
    assert holm([], 0.05) == []


def test_a_margin_must_be_reached_on_both_halves() -> None:
    assert judged(Syntactic(), [trial("a", 0.61, 0.61)])[HEAD].verdict
    assert not judged(Syntactic(), [trial("a", 0.61, 0.59)])[HEAD].verdict
    assert not judged(Syntactic(), [trial("a", 0.59, 0.61)])[HEAD].verdict


def test_what_luck_may_do_is_shared_by_all_heads_and_cases() -> None:
    others = [HeadId("encoder", layer, head) for layer in range(1, 6) for head in range(8)]
    lucky = trial("a", 0.9, 0.9, p=0.005)
    crowd = [trial(case, 0.5, 0.5, p=0.6, head=head) for head in others for case in "ab"]
    assert judged(Syntactic(), [lucky])[HEAD].verdict
    assert not judged(Syntactic(), [lucky, *crowd])[HEAD].verdict


def test_the_case_is_chosen_on_the_first_half_and_reported_on_the_second() -> None:
    found = judged(Syntactic(), [trial("a", 0.70, 0.95), trial("b", 0.80, 0.65)])[HEAD]
    assert (found.detail["case"], found.score, found.n) == ("b", 0.65, 100)
    assert found.detail["cases"]["a"]["verdict"]


def test_a_case_that_passes_comes_before_a_better_one_that_does_not() -> None:
    found = judged(Syntactic(), [trial("a", 0.70, 0.65), trial("b", 0.90, 0.55)])[HEAD]
    assert (found.detail["case"], found.verdict) == ("a", True)


def test_luck_over_many_relations_and_heads_together_is_at_the_stated_rate() -> None:
    """P-values of pure luck, for 8 heads with 20 relations each: about 5 % of 200 models have any head with a role."""
    chance, rate, n_models = random.Random(7), 0.05, 200
    heads = [HeadId("encoder", 0, head) for head in range(8)]
    wrong = 0
    for _ in range(n_models):
        tried = [trial(f"{case}", 0.9, 0.9, chance.random(), head) for head in heads for case in range(20)]
        wrong += any(found.verdict for found in judged(Syntactic(), tried, rate).values())
    assert 1 <= wrong <= 20  # 10 are expected; corrected for each head alone it would be 67


def test_luck_is_judged_by_the_half_that_is_reported_alone() -> None:
    def at_first(reading: Reading, bank: str) -> Tensor:
        return (wired.random_of(7) if reading.half else wired.on_last_mark)(reading, bank)

    found = wired.verdicts(EndMark(share=0.0), wired.scene(wired.trees(), "encoder", [at_first]))[0]
    assert found.detail["p"] > 0.01 and found.score < 0.2


def test_every_role_says_what_it_asks_and_has_a_letter_of_its_own() -> None:
    known = roles()
    assert {"positional", "syntactic", "rare words", "alignment", "induction", "end mark", "broad"} <= set(known)
    assert len({role.letter for role in known.values()}) == len(known)
    assert all(role.asks and role.title and role.reference for role in known.values())


def test_an_unknown_role_is_refused_with_those_that_are_known() -> None:
    with pytest.raises(KeyError, match="no role 'nonsense'; known: alignment, broad"):
        role_of("nonsense")
