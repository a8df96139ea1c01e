"""Inference pairs: labels are balanced, right, and not to be had from words alone."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable
from itertools import islice

import pytest

from headscope.tasks.grammar import InferencePair, Sentence, inference_pairs
from tests.tasks.grammar.bag_of_words import accuracy, train
from tests.tasks.grammar.draw import drawn


@pytest.fixture(scope="module")
def learned() -> list[InferencePair]:
    found: list[InferencePair] = drawn("inference_pairs", 1, 6000)
    return found


@pytest.fixture(scope="module")
def unseen() -> list[InferencePair]:
    found: list[InferencePair] = drawn("inference_pairs", 2, 1500, "test")
    return found


def test_labels_are_balanced_in_every_split(learned: list[InferencePair], unseen: list[InferencePair]) -> None:
    for pairs in (learned, unseen):
        counts = Counter(pair.label for pair in pairs)
        assert all(abs(count / len(pairs) - 1 / 3) < 0.04 for count in counts.values()), counts


def test_a_bag_of_words_cannot_solve_the_test_split(
    learned: list[InferencePair], unseen: list[InferencePair], record_property: Callable[[str, object], None]
) -> None:
    share = accuracy(train(learned), unseen)
    record_property("bag of words accuracy", share)
    assert share < 0.6, f"bag of words: {share:.3f}"


def test_the_same_words_occur_with_all_three_labels(learned: list[InferencePair]) -> None:
    same = Counter(pair.label for pair in learned if sorted(pair.premise.words) == sorted(pair.hypothesis.words))
    assert min(same.values()) > 100
    assert len(same) == 3


@pytest.mark.parametrize("cue", ["not in hypothesis", "not in premise", "passive hypothesis", "longer hypothesis"])
def test_no_single_cue_gives_the_label_away(learned: list[InferencePair], cue: str) -> None:
    tests: dict[str, Callable[[InferencePair], bool]] = {
        "not in hypothesis": lambda pair: "not" in pair.hypothesis.words,
        "not in premise": lambda pair: "not" in pair.premise.words,
        "passive hypothesis": lambda pair: "by" in pair.hypothesis.words,
        "longer hypothesis": lambda pair: len(pair.hypothesis.words) > len(pair.premise.words),
    }
    shares: dict[str, list[bool]] = defaultdict(list)
    for pair in learned:
        shares[pair.label].append(tests[cue](pair))
    rates = {label: sum(seen) / len(seen) for label, seen in shares.items()}
    assert max(rates.values()) - min(rates.values()) < 0.2, rates


def test_role_swaps_exchange_agent_and_patient(learned: list[InferencePair]) -> None:
    checked = 0
    for pair in learned:
        if pair.how == "roles: roles swapped":
            assert roles(pair.premise) == tuple(reversed(roles(pair.hypothesis)))
            checked += 1
        if pair.how == "roles: same roles":
            assert roles(pair.premise) == roles(pair.hypothesis)
            checked += 1
    assert checked > 500


def roles(sentence: Sentence) -> tuple[str, str]:
    """(agent, patient) read off the tree."""
    found = dict(zip(sentence.relations, sentence.words, strict=True))
    if "nsubj:pass" in found:
        return found["obl:agent"], found["nsubj:pass"]
    return found["nsubj"], found["obj"]


def test_denial_turns_the_direction_of_the_taxonomy(learned: list[InferencePair]) -> None:
    labels = {(pair.how, pair.label) for pair in learned if pair.how.startswith(("taxonomy", "scope"))}
    for family, more, less in (("taxonomy", "special", "general"), ("scope", "added", "dropped")):
        assert (f"{family}: {less}, said to said", "entailment") in labels
        assert (f"{family}: {more}, denied to denied", "entailment") in labels
        assert (f"{family}: {more}, said to said", "neutral") in labels
        assert (f"{family}: {less}, denied to denied", "neutral") in labels
        assert (f"{family}: {less}, said to denied", "contradiction") in labels
        assert (f"{family}: {more}, denied to said", "contradiction") in labels
    by_change = Counter(how for how, _ in labels)
    assert set(by_change.values()) == {1}


def test_a_seed_gives_the_same_pairs_again() -> None:
    assert list(islice(inference_pairs(5), 20)) == list(islice(inference_pairs(5), 20))
