"""Splits hold out what they say."""

from __future__ import annotations

import random

import pytest

from headscope.tasks.grammar import sentences, stories
from headscope.tasks.grammar.clause_derivation import ClauseDeriver
from headscope.tasks.grammar.combinations import combinations
from headscope.tasks.grammar.lexicon.ambiguous import AMBIGUOUS
from headscope.tasks.grammar.lexicon.nouns import NOUNS
from headscope.tasks.grammar.sampler import Sampler
from headscope.tasks.grammar.splits import SPLITS, admitted, home
from tests.tasks.grammar.build import adjective, clause, noun
from tests.tasks.grammar.draw import drawn

SINGULARS = {noun.english_plural: noun.english for nouns in (*NOUNS.values(), AMBIGUOUS) for noun in nouns}
QUANTIFIERS = {"many", "several", "few"}


def described_nouns(words: tuple[str, ...], heads: tuple[int, ...], relations: tuple[str, ...]) -> set[tuple[str, str]]:
    """(adjective, noun) of nouns without a compound, read off the tree."""
    compounds = {head for head, relation in zip(heads, relations, strict=True) if relation == "compound"}
    return {
        (words[index], SINGULARS.get(words[head - 1], words[head - 1]))
        for index, (head, relation) in enumerate(zip(heads, relations, strict=True))
        if relation == "amod" and head not in compounds and words[index] not in QUANTIFIERS
    }


@pytest.mark.parametrize("split", SPLITS)
def test_no_sentence_has_a_combination_of_another_split(split: str) -> None:
    for sentence in drawn("sentences", 1, 1000, split):
        for pair in described_nouns(sentence.words, sentence.heads, sentence.relations):
            assert home(pair) in ("train", split), sentence.english


def test_combinations_are_verb_with_object_and_adjective_with_noun() -> None:
    root = clause(noun("the old dog"), "fressen", noun("a fresh apple"), adverbials=())
    assert set(combinations(root)) == {("old", "dog"), ("fresh", "apple"), ("eat", "apple")}
    passive = clause(noun("the apple"), "fressen", passive=True, agent=noun("the old dog"))
    assert set(combinations(passive)) == {("old", "dog"), ("eat", "apple")}
    assert combinations(clause(noun("the dog"), adjective("old"))) == [("old", "dog")]


def test_about_eight_percent_of_combinations_are_held_out_half_for_each() -> None:
    homes = [home((f"verb{i}", f"noun{j}")) for i in range(100) for j in range(200)]
    assert 0.03 < homes.count("test") / len(homes) < 0.05
    assert 0.03 < homes.count("development") / len(homes) < 0.05


def test_the_held_out_combination_is_there_in_test_and_not_in_training() -> None:
    assert home(("old", "dog")) == home(("old", "dog"))
    held = next(pair for pair in ((a, n) for a in ("old", "big") for n in map(str, range(999))) if home(pair) == "test")
    assert admitted([held], "test")
    assert not admitted([held], "train")
    assert not admitted([held], "calibration")
    assert not admitted([held], "development")
    assert not admitted([], "test")
    assert admitted([], "train")


def test_streams_of_different_splits_differ() -> None:
    texts = {split: {sentence.english for sentence in drawn("sentences", 1, 500, split)} for split in SPLITS}
    assert len(texts["train"] & texts["calibration"]) < 40
    assert not texts["test"] & texts["development"]
    assert not texts["test"] & texts["train"]


def test_an_unknown_split_is_refused() -> None:
    with pytest.raises(ValueError, match="no split 'validation'; known: train"):
        next(sentences(0, "validation"))
    with pytest.raises(ValueError, match="no split"):
        next(stories(0, "validation"))


def test_training_rejects_few_derivations() -> None:
    source = random.Random(1)
    drawn = [combinations(ClauseDeriver(Sampler(source)).sentence()) for _ in range(400)]
    kept = sum(admitted(pairs, "train") for pairs in drawn) / len(drawn)
    assert 0.75 < kept < 0.95
