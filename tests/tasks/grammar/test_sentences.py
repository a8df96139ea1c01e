"""What holds for every generated sentence."""

from __future__ import annotations

from collections import Counter
from itertools import islice

import pytest

from headscope.tasks.grammar import Sentence, sentences
from headscope.tasks.grammar.lexicon.nouns import NOUNS
from tests.tasks.grammar.draw import drawn

RELATIONS = {
    "root", "nsubj", "nsubj:pass", "obj", "iobj", "obl", "obl:agent", "det", "amod", "nummod", "nmod",
    "nmod:poss", "compound", "compound:prt", "case", "fixed", "advmod", "aux", "aux:pass", "cop", "mark", "advcl",
    "ccomp", "acl:relcl", "conj", "cc", "punct",
}  # fmt: skip
TAGS = {"NOUN", "PROPN", "PRON", "VERB", "AUX", "ADJ", "ADV", "ADP", "DET", "NUM", "CCONJ", "SCONJ", "PART", "PUNCT"}
CONTENT = {"NOUN", "PROPN", "PRON", "VERB", "ADJ", "ADV", "NUM"}
SINGULAR_FORMS = {"is", "was", "has", "does"}
PLURAL_FORMS = {"are", "were", "have", "do"}
SINGULARS = {noun.english for nouns in NOUNS.values() for noun in nouns}
PLURALS = {noun.english_plural for nouns in NOUNS.values() for noun in nouns}


@pytest.fixture(scope="module")
def sample() -> list[Sentence]:
    found: list[Sentence] = drawn("sentences", 11, 8000)
    return found


def test_every_tree_has_one_root_and_no_cycle(sample: list[Sentence]) -> None:
    for sentence in sample:
        assert sentence.heads.count(0) == 1, sentence.english
        for start in range(1, len(sentence.words) + 1):
            here, steps = start, 0
            while here:
                here, steps = sentence.heads[here - 1], steps + 1
                assert steps <= len(sentence.words), sentence.english


def test_labels_and_tags_are_universal_dependencies(sample: list[Sentence]) -> None:
    assert {label for sentence in sample for label in sentence.relations} == RELATIONS
    assert {tag for sentence in sample for tag in sentence.upos} == TAGS


def test_all_parts_of_a_sentence_have_the_same_length(sample: list[Sentence]) -> None:
    for sentence in sample:
        lengths = {len(sentence.words), len(sentence.upos), len(sentence.heads), len(sentence.relations)}
        assert len(lengths) == 1
        assert all(here < len(sentence.words) and there < len(sentence.german) for here, there in sentence.alignment)


def test_trees_are_projective_except_for_fronted_objects_of_prepositions(sample: list[Sentence]) -> None:
    crossing = sum(not projective(sentence.heads) for sentence in sample)
    assert crossing < 0.01 * len(sample)


def projective(heads: tuple[int, ...]) -> bool:
    arcs = [(min(child, head), max(child, head)) for child, head in enumerate(heads, start=1) if head]
    return not any(a < c < b < d for a, b in arcs for c, d in arcs)


def subject_is_plural(sentence: Sentence, index: int) -> bool | None:
    """The number of a subject by its own words; None where they do not show it."""
    word = sentence.words[index]
    if sentence.relations[index + 1 :].count("conj") and any(
        head == index + 1 and relation == "conj"
        for head, relation in zip(sentence.heads, sentence.relations, strict=True)
    ):
        return True
    if word in ("I", "you", "we", "they"):
        return True
    if word in ("he", "she", "it", "who", "that", "what") or sentence.upos[index] == "PROPN":
        return False if word not in ("who", "that") else None
    if (word in SINGULARS) == (word in PLURALS):
        return None
    return word in PLURALS


def test_the_finite_verb_agrees_with_its_subject_across_attractors(sample: list[Sentence]) -> None:
    checked = Counter[str]()
    for sentence in sample[:5000]:
        for index, relation in enumerate(sentence.relations):
            if not relation.startswith("nsubj"):
                continue
            plural = subject_is_plural(sentence, index)
            if plural is None:
                continue
            verb = sentence.heads[index]
            chain = [
                sentence.words[child]
                for child, (head, label) in enumerate(zip(sentence.heads, sentence.relations, strict=True))
                if head == verb and label in ("aux", "aux:pass", "cop")
            ] or [sentence.words[verb - 1]]
            agree(chain[0], plural, sentence, sentence.words[index])
            checked["attractor" if "attractor" in sentence.constructions else "plain"] += 1
    assert checked["attractor"] > 200
    assert checked["plain"] > 2000


def agree(finite: str, plural: bool, sentence: Sentence, subject: str) -> None:
    if finite == "am" or (subject == "I" and finite == "was"):
        assert subject == "I"
    elif finite in SINGULAR_FORMS | PLURAL_FORMS:
        assert (finite in PLURAL_FORMS) == plural, sentence.english


def test_every_content_word_is_aligned(sample: list[Sentence]) -> None:
    for sentence in sample:
        aligned = {here for here, _ in sentence.alignment}
        for index, tag in enumerate(sentence.upos):
            assert tag not in CONTENT or index in aligned, (sentence.words[index], sentence.english)


def test_every_german_word_but_commas_and_years_is_aligned(sample: list[Sentence]) -> None:
    for sentence in sample:
        aligned = {there for _, there in sentence.alignment}
        loose = {word for index, word in enumerate(sentence.german) if index not in aligned}
        assert loose <= {",", "Jahr"}, (loose, sentence.german_text)


def test_names_and_numbers_are_copied(sample: list[Sentence]) -> None:
    weekdays = {"Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"}
    for sentence in sample:
        names = [word for word, tag in zip(sentence.words, sentence.upos, strict=True) if tag == "PROPN"]
        digits = [word for word in sentence.words if word.isdigit()]
        assert set(names) - weekdays | set(digits) <= set(sentence.german), sentence.english


def test_german_follows_from_english() -> None:
    assert drawn("contested", 12, 25_000) == []


def test_german_punctuation_is_clean(sample: list[Sentence]) -> None:
    for sentence in sample:
        text = sentence.german_text
        assert ",," not in text
        assert ",." not in text
        assert ",?" not in text
        assert text.count(".") + text.count("?") == 1


def test_a_seed_gives_the_same_sentences_again_and_another_seed_others() -> None:
    first, again, other = (list(islice(sentences(seed), 50)) for seed in (3, 3, 4))
    assert first == again
    assert first != other
    assert first == drawn("sentences", 3, 50)  # in another process, where strings hash otherwise


def test_the_mixture_is_as_promised(sample: list[Sentence]) -> None:
    share = Counter(name for sentence in sample for name in sentence.constructions)
    lengths = [len(sentence.words) for sentence in sample]
    assert 9 <= sum(lengths) / len(lengths) <= 16
    assert sum(length > 30 for length in lengths) < 0.01 * len(sample)
    assert 0.3 < sum("PROPN" in sentence.upos for sentence in sample) / len(sample) < 0.42
    for name in (
        "attractor",
        "fronted",
        "separable",
        "passive",
        "pronoun",
        "compound",
        "number",
        "relative",
        "question",
    ):
        assert share[name] > 0.05 * len(sample), name
    assert share["ambiguous"] > 0.5 * len(sample)
    assert share["verb-final"] > 0.2 * len(sample)


def test_it_has_the_gender_of_its_antecedent(sample: list[Sentence]) -> None:
    genders = {noun.english: noun.gender for nouns in NOUNS.values() for noun in nouns}
    forms = {"m": {"er", "ihn", "ihm"}, "f": {"sie", "ihr"}, "n": {"es", "ihm"}}
    seen = Counter[str]()
    for sentence in sample:
        for here, noun in sentence.antecedents:
            if sentence.words[here] == "it" and sentence.words[noun] in genders:
                gender = genders[sentence.words[noun]]
                said = {sentence.german[there] for place, there in sentence.alignment if place == here}
                assert said <= forms[gender], sentence.english
                seen[gender] += 1
    assert min(seen[gender] for gender in "mfn") > 50
