"""Thresholds that somebody asks for, from a command line or a form to the verdict and the sentence."""

from __future__ import annotations

from typing import Any

import pytest

from headscope.analysis.roles.descriptions import sentence_of
from headscope.analysis.roles.methods.syntactic import Syntactic
from headscope.analysis.roles.role import RoleFinding, Trial, judged
from headscope.analysis.roles.thresholds import all_thresholds, asked_roles, asks_of, read_thresholds, usual_roles
from headscope.models.heads import HeadId

HEAD = HeadId("encoder", 0, 0)


def test_what_is_not_asked_for_is_as_usual() -> None:
    asked = asked_roles({"syntactic.margin": 0.15, "rare words.common": 30})
    assert (asked["syntactic"], asked["rare words"].common) == (Syntactic(margin=0.15), 30)  # type: ignore[attr-defined]
    usual = usual_roles()
    assert all(role == usual[key] for key, role in asked.items() if key not in ("syntactic", "rare words"))
    assert asked_roles({}) == usual and set(usual) == {name.rpartition(".")[0] for name in all_thresholds()}


def test_a_threshold_decides_the_verdict() -> None:
    trial = Trial(HEAD, "c", (0.52, 0.52), (0.4, 0.4), 100, 1e-9)
    verdicts = [
        judged(asked_roles(options)["syntactic"], [trial])[HEAD].verdict for options in ({}, {"syntactic.margin": 0.15})
    ]
    assert verdicts == [True, False]


def test_a_command_line_spells_thresholds_by_role_and_name() -> None:
    assert read_thresholds(["syntactic.margin=0.15", "end mark.share=1", "rare words.common=100"]) == {
        "syntactic.margin": 0.15,
        "end mark.share": 1.0,
        "rare words.common": 100,
    }


@pytest.mark.parametrize(
    ("pair", "sentence"),
    [
        ("margin=0.1", "no threshold 'margin' of a role; known: alignment.margin, broad.evenness"),
        ("syntactic.margin=much", "syntactic.margin=much; a number such as 0.1 is needed"),
        ("syntactic.margin=nan", "syntactic.margin=nan; allowed is 0 to 1"),
        ("positional.share=90", "positional.share=90.0; allowed is 0 to 1"),
        ("rare words.common=-1", "rare words.common=-1; a whole number such as 500 is needed"),
    ],
)
def test_what_no_role_can_ask_is_one_sentence(pair: str, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        read_thresholds([pair])


@pytest.mark.parametrize("options", [{"broad.evenness": "0.9"}, {"rare words.common": 0.5}, {"x": 1}])
def test_a_run_with_such_thresholds_is_refused_too(options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"needed|allowed|known"):
        asked_roles(options)


def test_what_a_role_asks_says_where_it_is_not_as_usual() -> None:
    assert asks_of(Syntactic()) == Syntactic.asks
    assert asks_of(Syntactic(margin=0.2)) == f"{Syntactic.asks}; here by your own margin 0.2"


def test_a_sentence_is_told_by_the_roles_that_were_asked() -> None:
    finding = RoleFinding(0.84, 0.46, 512, True, {"case": "obj: dependent to head", "control": "x"})

    class Loud(Syntactic):
        def phrase(self, finding: RoleFinding) -> str:
            return super().phrase(finding).upper()

    assert sentence_of({"syntactic": finding}, {"syntactic": Loud()}).startswith("LOOKS FROM AN OBJECT")
