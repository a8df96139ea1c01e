"""What is told about roles: sentences, examples, survivors, importance."""

from __future__ import annotations

import pytest

from headscope.analysis.roles.descriptions import NOTHING, sentence_of
from headscope.analysis.roles.passages import from_texts
from headscope.analysis.roles.role import RoleFinding
from headscope.analysis.roles.role_importance import NONE, Survivors, importance_by_role, surviving
from headscope.analysis.roles.sample import text_sample
from headscope.analysis.roles.search_progress import at_once
from headscope.analysis.roles.typical_examples import Typical, typical_examples
from headscope.models.heads import HeadId
from headscope.runs.client import run_here
from headscope.runs.kinds.roles import RolesRun
from headscope.runs.run import DONE
from headscope.runs.store import Store
from tests.analysis.subjects import subject
from tests.tasks.tiny import TEXTS

A, B, C, D = (HeadId("encoder", 0, number) for number in range(4))


def finding(verdict: bool, case: str = "-1") -> RoleFinding:
    return RoleFinding(0.84, 0.46, 512, verdict, {"case": case, "control": "best fixed offset -2"})


FOUND = {
    "positional": {A: finding(True), B: finding(False), C: finding(False), D: finding(False)},
    "syntactic": {A: finding(True, "nsubj: head to dependent"), B: finding(True, "obj: dependent to head"),
                  C: finding(False), D: finding(False)},
}  # fmt: skip


def test_a_sentence_names_each_role_with_its_evidence() -> None:
    one = {key: own[A] for key, own in FOUND.items()}
    assert sentence_of(one) == (
        "looks 1 token back: 84 % of 512, best fixed offset -2: 46 %; "
        "looks from a verb to its subject: 84 % of 512, best fixed offset -2: 46 %"
    )
    assert sentence_of({key: own[D] for key, own in FOUND.items()}) == NOTHING


def test_survivors_are_counted_in_every_role_they_have() -> None:
    assert surviving(FOUND, {A, C}) == {
        "positional": Survivors(0, 1),
        "syntactic": Survivors(1, 2),
        NONE: Survivors(1, 2),
    }


def test_a_role_whose_heads_matter_because_they_are_confident_has_no_partial_correlation() -> None:
    scores = {A: 4.0, B: 3.0, C: 2.0, D: 1.0}
    explained = importance_by_role(FOUND, scores, {A: 0.9, B: 0.8, C: 0.2, D: 0.1})["syntactic"]
    assert (explained.n, explained.share, explained.heads_share) == (2, 0.7, 0.5)
    assert explained.correlation == pytest.approx(2 / 5**0.5)
    assert explained.partial is None, "confidence ranks the heads just as importance does"
    in_part = importance_by_role(FOUND, scores, {A: 0.9, B: 0.2, C: 0.8, D: 0.1})["syntactic"]
    r12, r13, r23 = 2 / 5**0.5, 1 / 5**0.5, 0.8
    assert in_part.partial == pytest.approx((r12 - r13 * r23) / ((1 - r13**2) * (1 - r23**2)) ** 0.5)


def test_importance_and_confidence_must_be_of_the_same_heads() -> None:
    with pytest.raises(ValueError, match="scores of 2 heads and confidence of 1"):
        importance_by_role(FOUND, {A: 1.0, B: 2.0}, {A: 1.0})


def test_heads_that_are_gone_are_neither_with_nor_without_a_role() -> None:
    """Importance scores a removed head 0; it must change no share and no correlation."""
    scores, sure = {A: 4.0, B: 3.0, C: 2.0, D: 1.0}, {A: 0.9, B: 0.2, C: 0.8, D: 0.1}
    gone = {HeadId("encoder", 1, number): 0.0 for number in range(4)}
    assert importance_by_role(FOUND, scores | gone, sure | gone) == importance_by_role(FOUND, scores, sure)
    nobody = {"positional": dict.fromkeys(scores, finding(False))}
    without = importance_by_role(nobody, scores | gone, sure | gone)[NONE]
    assert (without.n, without.share, without.heads_share) == (4, 1.0, 1.0)
    with pytest.raises(ValueError, match="in none of which roles were looked for"):
        importance_by_role({}, scores, sure)


def test_typical_examples_are_the_readings_with_most_weight_on_what_the_role_names() -> None:
    head_model, _ = subject("encoder")
    sample = text_sample(head_model, from_texts(TEXTS))
    chosen = HeadId("encoder", 1, 2)
    found = {"positional": {chosen: finding(True, "-1"), A: finding(False)}}
    examples = at_once(typical_examples(head_model, sample, found, 2))["positional"]
    assert set(examples) == {chosen}
    first, second = examples[chosen]
    assert isinstance(first, Typical) and first.clarity >= second.clarity
    assert {first.index % 2, second.index % 2} == {1}
    assert all(query - key == 1 for query, key, _ in first.looks)
    assert sample.readings[first.index].text == first.text


def test_a_run_gives_findings_sentences_and_counts_for_every_head(tmp_path) -> None:  # type: ignore[no-untyped-def]
    run = run_here(Store(tmp_path), RolesRun("looker", n=44))
    assert run.state == DONE and run.result is not None
    assert set(run.result["roles"]) == {"positional", "broad", "end mark", "neighbourhood"}
    first = run.result["roles"]["positional"]["encoder.0.0"]
    assert set(first) == {"score", "baseline", "n", "verdict", "detail"}
    assert len(run.result["sentences"]) == len(run.result["told"]) == 36
    assert all(run.result["about"][key]["letter"] for key in run.result["roles"])
    assert run.result["counts"]["none"] <= 36


def test_a_run_on_trees_tells_clauses_relations_and_typical_examples(tmp_path) -> None:  # type: ignore[no-untyped-def]
    run = run_here(Store(tmp_path), RolesRun("translator", n=90))
    assert run.state == DONE and run.result is not None
    found = run.result
    held = {
        head for head in found["told"] if any(own[head]["verdict"] for own in found["roles"].values() if head in own)
    }
    assert held and held == {head for head, told in found["told"].items() if told["clauses"]}
    for head in held:
        assert "; ".join(found["told"][head]["clauses"].values()) == found["sentences"][head]
    assert found["relations"]["nsubj: head to dependent"] == "verb → subject"
    assert found["relations"]["det: dependent to head"] == "determiner → noun"
    assert set(found["relations"]) == set(found["roles"]["syntactic"]["encoder.0.0"]["detail"]["cases"])
    for key, own in found["typical"].items():
        for head, examples in own.items():
            assert found["roles"][key][head]["verdict"] and 1 <= len(examples) <= 3
            assert all(examples[0]["looks"]) or key == "broad"
