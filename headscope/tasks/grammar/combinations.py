"""The combinations of words in a derivation: verb with object noun, adjective with noun."""

from __future__ import annotations

from collections.abc import Iterator

from headscope.tasks.grammar.phrases import Clause, Common, Pair, Phrase, Relative

Combination = tuple[str, str]


def clauses_of(clause: Clause) -> Iterator[Clause]:
    """The clause and every clause inside it."""
    yield clause
    for part in (clause.complement, clause.subordinate, clause.coordinate[1] if clause.coordinate else None):
        if part:
            yield from clauses_of(part)
    for phrase in arguments_of(clause):
        if isinstance(phrase, Common) and phrase.relative:
            yield from clauses_of(phrase.relative)


def arguments_of(clause: Clause) -> list[Phrase]:
    """Subject, objects and agent."""
    return [part for part in (clause.subject, clause.object, clause.recipient, clause.agent) if part is not None]


def combinations(clause: Clause) -> list[Combination]:
    """Every combination in the sentence."""
    found: list[Combination] = []
    for part in clauses_of(clause):
        for phrase in arguments_of(part):
            described(phrase, found)
        if part.goal:
            described(part.goal[1], found)
        for adverbial in part.adverbials:
            if adverbial.phrase:
                described(adverbial.phrase, found)
        predicated(part, found)
    return found


def described(phrase: Phrase, found: list[Combination]) -> None:
    """Adjectives with the noun they stand before."""
    for part in parts_of(phrase):
        if isinstance(part, Common):
            found.extend((adjective.english, part.lemma) for adjective in part.adjectives)
            if part.modifier:
                described(part.modifier[1], found)


def predicated(clause: Clause, found: list[Combination]) -> None:
    """The verb with its object, the predicate adjective with its subject."""
    word = clause.sense.verb.lemma if clause.sense else clause.predicate.english if clause.predicate else ""
    what = clause.subject if clause.passive or not clause.sense else clause.object
    for part in parts_of(what) if what else ():
        noun = part.head if isinstance(part, Relative) else part
        if isinstance(noun, Common):
            found.append((word, noun.lemma))


def parts_of(phrase: Phrase) -> tuple[Phrase, ...]:
    """The members of a pair, or the phrase itself."""
    return (phrase.one, phrase.two) if isinstance(phrase, Pair) else (phrase,)
