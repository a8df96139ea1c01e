"""Short ways to write derivations by hand."""

from __future__ import annotations

from itertools import count
from typing import Any

from headscope.tasks.grammar.lexicon import function_words as words
from headscope.tasks.grammar.lexicon.adjectives import ADJECTIVES
from headscope.tasks.grammar.lexicon.ambiguous import AMBIGUOUS
from headscope.tasks.grammar.lexicon.lexemes import Adjective, Adverb, Preposition, Sense
from headscope.tasks.grammar.lexicon.nouns import NOUNS
from headscope.tasks.grammar.lexicon.verbs import VERBS
from headscope.tasks.grammar.phrases import (
    STRIDE,
    Adverbial,
    Asked,
    Clause,
    Common,
    Name,
    Pair,
    Phrase,
    Pronoun,
    Relative,
)
from headscope.tasks.grammar.sentence import Sentence, realise

units = count(STRIDE, STRIDE)
BY_ENGLISH = {noun.english: noun for nouns in NOUNS.values() for noun in nouns}
ADJECTIVE_BY_ENGLISH = {adjective.english: adjective for adjective in ADJECTIVES}
ADVERBS = {adverb.english: adverb for adverb in (*words.TIME_ADVERBS, *words.OFTEN_ADVERBS, *words.MANNER_ADVERBS)}
DETERMINERS = {
    form: determiner for determiner in words.DETERMINERS for form in (determiner.singular, determiner.plural) if form
}


def noun(text: str, **more: Any) -> Common:
    """`the old dogs`: determiner (or `-`), adjectives, noun in either number."""
    determiner, *adjectives, head = text.split()
    plural = head not in BY_ENGLISH
    if plural:
        head = next(noun.english for noun in BY_ENGLISH.values() if noun.english_plural == head)
    return Common(
        next(units),
        BY_ENGLISH[head],
        plural,
        words.BARE if determiner == "-" else DETERMINERS[determiner],
        tuple(ADJECTIVE_BY_ENGLISH[word] for word in adjectives),
        **more,
    )


def ambiguous(german: str, cue: str = "") -> Common:
    """`the` with the ambiguous noun of this German translation, and a cue adjective."""
    found = next(noun for noun in AMBIGUOUS if noun.german == german)
    cues = tuple(adjective for adjective in found.adjective_cues if adjective.english == cue)
    return Common(next(units), found, adjectives=cues)


def pronoun(form: str, antecedent: Common | Name | None = None) -> Pronoun:
    return Pronoun(next(units), form, antecedent)


def name(text: str) -> Name:
    return Name(next(units), text, "she" if text.endswith("a") else "he", "person")


def place(text: str) -> Name:
    return Name(next(units), text, "", "place")


def pair(one: Common | Name, two: Common | Name) -> Pair:
    return Pair(next(units), one, two)


def relative(head: Common) -> Relative:
    return Relative(next(units), head)


def asked(form: str) -> Asked:
    return Asked(next(units), form)


def german(infinitive: str, group: str = "") -> Sense:
    """The sense with this German infinitive."""
    return next(
        sense
        for name, verbs in VERBS.items()
        if group in ("", name)
        for verb in verbs
        for sense in verb.senses
        if sense.german.infinitive == infinitive
    )


def adverb(word: str, fronted: bool = False) -> Adverbial:
    found: Adverb = ADVERBS[word]
    return Adverbial(next(units), found.slot, adverb=found, fronted=fronted)


def at(preposition: Preposition, phrase: Phrase, slot: str = "place", fronted: bool = False) -> Adverbial:
    return Adverbial(next(units), slot, preposition=preposition, phrase=phrase, fronted=fronted)


def clause(subject: Phrase, verb: Sense | Adjective | str, what: Phrase | None = None, **more: Any) -> Clause:
    """A clause; the verb is a sense, a German infinitive or a predicate adjective."""
    if isinstance(verb, Adjective):
        return Clause(next(units), subject, None, predicate=verb, **more)
    return Clause(next(units), subject, german(verb) if isinstance(verb, str) else verb, what, **more)


def adjective(word: str) -> Adjective:
    return ADJECTIVE_BY_ENGLISH[word]


def said(root: Clause) -> tuple[str, str]:
    """English and German text."""
    sentence: Sentence = realise(root, 0.0)
    return sentence.english, sentence.german_text
