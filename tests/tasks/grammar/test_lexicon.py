"""The lexicon keeps its promises: what is ambiguous is decided by the sentence."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

from headscope.tasks.grammar.derivation_tables import cue_senses
from headscope.tasks.grammar.lexicon.adjectives import ADJECTIVES
from headscope.tasks.grammar.lexicon.ambiguous import AMBIGUOUS
from headscope.tasks.grammar.lexicon.nouns import FIRST_NOUNS, NOUNS
from headscope.tasks.grammar.lexicon.verbs import VERBS

ALL_NOUNS = [noun for nouns in NOUNS.values() for noun in nouns]


def test_every_plain_noun_has_one_meaning() -> None:
    forms = Counter(form for noun in ALL_NOUNS for form in {noun.english, noun.english_plural})
    assert [form for form, times in forms.items() if times > 1] == []
    assert {noun.english for noun in AMBIGUOUS}.isdisjoint(noun.english for noun in ALL_NOUNS)


def test_senses_of_a_verb_differ_in_the_kinds_of_subject_or_object() -> None:
    for verbs in VERBS.values():
        for verb in verbs:
            for one, two in combinations(verb.senses, 2):
                apart = set(one.objects).isdisjoint(two.objects) if one.objects else False
                assert apart or set(one.subjects).isdisjoint(two.subjects), verb.lemma


def test_verbs_and_adjectives_name_known_kinds_only() -> None:
    for verbs in VERBS.values():
        for verb in verbs:
            for sense in verb.senses:
                assert set(sense.subjects) | set(sense.objects) <= set(NOUNS), verb.lemma
    for adjective in ADJECTIVES:
        assert set(adjective.german) <= set(NOUNS), adjective.english
    assert set(FIRST_NOUNS) <= set(NOUNS)


def test_a_verb_with_the_same_frame_is_listed_once() -> None:
    for group, verbs in VERBS.items():
        forms = Counter((verb.lemma, verb.particle, verb.preposition) for verb in verbs)
        assert max(forms.values()) == 1, group
    transitive = [
        (verb.lemma, verb.particle, verb.preposition)
        for group in ("object-sense", "subject-sense", "transitive")
        for verb in VERBS[group]
    ]
    assert len(transitive) == len(set(transitive))


def test_each_ambiguous_noun_has_two_senses_with_cues_of_their_own() -> None:
    by_word = Counter(noun.english for noun in AMBIGUOUS)
    assert set(by_word.values()) == {2}
    for one, two in combinations(AMBIGUOUS, 2):
        if one.english == two.english:
            for cues in ("subject_cues", "object_cues"):
                assert set(getattr(one, cues)).isdisjoint(getattr(two, cues)), one.english
            assert {a.english for a in one.adjective_cues}.isdisjoint(a.english for a in two.adjective_cues), (
                one.english
            )


def test_every_cue_verb_takes_its_noun() -> None:
    for noun in AMBIGUOUS:
        for role, cues in (("subject", noun.subject_cues), ("object", noun.object_cues)):
            found = {sense.verb.lemma for sense in cue_senses(noun, cues, role)}
            assert found == set(cues), (noun.english, noun.german, role)


def test_cue_verbs_of_one_sense_do_not_take_the_other_kind() -> None:
    for one, two in combinations(AMBIGUOUS, 2):
        if one.english == two.english:
            assert one.kind != two.kind or not one.object_cues, one.english


def test_the_vocabulary_is_as_large_as_promised() -> None:
    assert len(ALL_NOUNS) > 330
    assert sum(len(verbs) for verbs in VERBS.values()) > 90
    assert len(ADJECTIVES) > 80
