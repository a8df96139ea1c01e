"""Pairs of sentences: does the first entail the second, contradict it, or neither?

Each label comes from five families, built so that words alone do not tell. Who did what to whom is taken as unique: if
the doctor called the nurse, that the nurse called the doctor is a contradiction.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from headscope.tasks.grammar import derivation_tables
from headscope.tasks.grammar.combinations import combinations
from headscope.tasks.grammar.lexicon.adjectives import ADJECTIVES
from headscope.tasks.grammar.lexicon.function_words import MY, THAT, THE, TIME_ADVERBS, A
from headscope.tasks.grammar.lexicon.lexemes import Adjective, Noun, Sense
from headscope.tasks.grammar.lexicon.nouns import HYPERNYMS, NOUNS
from headscope.tasks.grammar.lexicon.verbs import VERBS
from headscope.tasks.grammar.phrase_derivation import PhraseDeriver
from headscope.tasks.grammar.phrases import Adverbial, Clause, Common, Name, Phrase
from headscope.tasks.grammar.sampler import Sampler, Table
from headscope.tasks.grammar.sentence import Sentence, realise
from headscope.tasks.grammar.splits import admitted, source

WHEN = {
    tense: Table.even(
        adverb for adverb in TIME_ADVERBS if adverb.english in ("yesterday", "today") and tense in adverb.tenses
    )
    for tense in ("past", "present")
}
LABELS = ("entailment", "neutral", "contradiction")
LABEL_TABLE = Table.even(LABELS)
FAMILIES = {
    "entailment": Table([("roles", 30), ("clauses", 24), ("states", 16), ("scope", 16), ("taxonomy", 14)]),
    "contradiction": Table([("roles", 30), ("clauses", 24), ("states", 16), ("scope", 16), ("taxonomy", 14)]),
    "neutral": Table([("roles", 20), ("clauses", 16), ("states", 12), ("scope", 28), ("taxonomy", 24)]),
}
TENSES = Table([("past", 3), ("present", 2)])
DEFINITE = Table([(THE, 6), (MY, 1), (THAT, 1)])
MUTUAL_KINDS = Table([("person", 4), ("animal", 1)])
STATE_KINDS = Table.even(("person", "animal", "building", "clothing", "vessel", "room"))


def opposites(kind: str) -> Table[tuple[Adjective, Adjective]]:
    """Pairs of opposite adjectives for a kind."""
    fitting = {adjective.english: adjective for adjective in ADJECTIVES if kind in adjective.german}
    return Table.even((one, fitting[one.opposite]) for one in fitting.values() if one.opposite in fitting)


OPPOSITES = {kind: opposites(kind) for kind in STATE_KINDS.options}
SPECIFIC = {kind: Table.zipf(NOUNS[kind][1:], 4) for kind in HYPERNYMS}


def events(kind: str) -> Table[Sense]:
    """Verbs of something done by one of a kind to another of it."""
    return Table(
        (sense, 1 / (rank + 20))
        for group in ("object-sense", "transitive")
        for rank, verb in enumerate(VERBS[group])
        for sense in verb.senses
        if kind in sense.subjects and kind in sense.objects and derivation_tables.can_be_passive(sense)
    )


EVENTS = {kind: events(kind) for kind in ("person", "animal")}
DONE_TO = {
    kind: Table(
        (sense, 1 / (rank + 20))
        for group in ("object-sense", "transitive")
        for rank, verb in enumerate(VERBS[group])
        for sense in verb.senses
        if "person" in sense.subjects and kind in sense.objects and derivation_tables.can_be_passive(sense)
    )
    for kind in HYPERNYMS
    if any(
        kind in sense.objects
        for group in ("object-sense", "transitive")
        for verb in VERBS[group]
        for sense in verb.senses
    )
}
TAXONOMY_KINDS = Table.even(DONE_TO)


@dataclass(frozen=True, slots=True)
class InferencePair:
    """Two sentences with the label of the second given the first; `how` names the family and the change."""

    premise: Sentence
    hypothesis: Sentence
    label: str
    how: str


@dataclass(frozen=True, slots=True)
class Draft:
    """A pair before it is put into words."""

    premise: Clause
    hypothesis: Clause
    how: str


def inference_pairs(seed: int, split: str = "train") -> Iterator[InferencePair]:
    """An endless stream of pairs, labels equally likely; the same seed and split give the same stream.

    The hypothesis carries the log probability of the pair given its label and family; the premise has none (zero).
    """
    stream = source(seed, split, "inference")
    while True:
        choice = Sampler(stream)
        label = choice.pick(LABEL_TABLE)
        family = choice.pick(FAMILIES[label])
        yield accepted_pair(stream, split, label, family)


def accepted_pair(stream: random.Random, split: str, label: str, family: str) -> InferencePair:
    """The first pair of a family and label that the split admits, so that the split does not disturb the balance."""
    while True:
        sampler = Sampler(stream)
        draft = PairDeriver(sampler).draft(family, label)
        if admitted(combinations(draft.premise) + combinations(draft.hypothesis), split):
            premise = realise(draft.premise, 0.0)
            return InferencePair(premise, realise(draft.hypothesis, sampler.log_probability), label, draft.how)


class PairDeriver(PhraseDeriver):
    """Draws a premise and turns it into a hypothesis."""

    def draft(self, family: str, label: str) -> Draft:
        """A pair of one family with the given label."""
        self.tense = self.sampler.pick(TENSES)
        makers = {
            "roles": self.roles,
            "clauses": self.two_clauses,
            "states": self.states,
            "scope": self.scope,
            "taxonomy": self.taxonomy,
        }
        return makers[family](label)

    # What the pairs are made of

    def definite(self, noun: Noun, adjective: Adjective | None = None) -> Common:
        """A definite singular."""
        return Common(self.unit(), noun, False, self.sampler.pick(DEFINITE), (adjective,) if adjective else ())

    def one_of(self, kind: str, others: Sequence[Phrase] = ()) -> Noun:
        """A noun of a kind that no other phrase has."""
        taken = [other.noun for other in others if isinstance(other, Common)]
        table = derivation_tables.nouns((kind,))
        if not taken:
            return self.sampler.pick(table)
        rest = [noun for noun in table.options if noun not in taken]
        return rest[self.sampler.below(len(rest))]

    def someone(self, kind: str, others: Sequence[Phrase] = ()) -> Common | Name:
        """A person by name or a definite noun of a kind."""
        if kind == "person" and self.sampler.chance(0.25):
            return self.person()
        return self.definite(self.one_of(kind, others))

    def event(self, sense: Sense, agent: Phrase, patient: Phrase, negated: bool = False) -> Clause:
        """Who did what to whom, in either voice."""
        if self.sampler.chance(0.5):
            return Clause(self.unit(), patient, sense, agent=agent, passive=True, tense=self.tense, negated=negated)
        return Clause(self.unit(), agent, sense, patient, tense=self.tense, negated=negated)

    def state(self, subject: Phrase, adjective: Adjective, negated: bool) -> Clause:
        """Someone or something is so."""
        return Clause(self.unit(), subject, None, predicate=adjective, tense=self.tense, negated=negated)

    def two_adjectives(self, kind: str, opposite: bool) -> tuple[Adjective, Adjective]:
        """Two adjectives for a kind, opposites or unrelated."""
        if opposite:
            return self.sampler.pick(OPPOSITES[kind])
        one = self.sampler.pick(derivation_tables.adjectives(kind))
        rest = [
            two for two in derivation_tables.adjectives(kind).options if two is not one and two.english != one.opposite
        ]
        rest = [two for two in rest if two.opposite != one.english]
        return one, rest[self.sampler.below(len(rest))]

    # Families

    def roles(self, label: str) -> Draft:
        """The same words in another order."""
        sampler = self.sampler
        kind = sampler.pick(MUTUAL_KINDS)
        sense = sampler.pick(EVENTS[kind])
        opposite = label != "neutral" and sampler.chance(0.5)
        one, two = self.two_adjectives(kind, opposite)
        agent = self.definite(self.one_of(kind), one)
        patient = self.definite(self.one_of(kind, (agent,)), two)
        premise = self.event(sense, agent, patient)
        if label == "entailment":
            return Draft(premise, self.event(sense, agent, patient), "roles: same roles")
        if label == "contradiction" and not (opposite and sampler.chance(0.5)):
            return Draft(premise, self.event(sense, patient, agent), "roles: roles swapped")
        agent, patient = replace(agent, adjectives=(two,)), replace(patient, adjectives=(one,))
        how = "opposite adjectives swapped" if opposite else "adjectives swapped"
        return Draft(premise, self.event(sense, agent, patient), f"roles: {how}")

    def two_clauses(self, label: str) -> Draft:
        """Two events, one of them denied; the hypothesis takes one, denies it, turns it round or mixes the two."""
        sampler = self.sampler
        senses = EVENTS["person"]
        first, second = sampler.pick(senses), sampler.pick(senses)
        people: list[Common | Name] = []
        for _ in range(4):
            people.append(self.someone("person", people))
        one, two, three, four = people
        denied = sampler.chance(0.5)
        premise = self.event(first, one, two, denied)
        premise.coordinate = ("but", self.event(second, three, four, not denied))
        negated = sampler.chance(0.5)
        sense, agent, patient = (first, one, two) if negated == denied else (second, three, four)
        if label == "entailment":
            return Draft(premise, self.event(sense, agent, patient, negated), "clauses: one of the two")
        if label == "contradiction":
            if not negated and sampler.chance(0.4):
                return Draft(premise, self.event(sense, patient, agent, negated), "clauses: roles swapped")
            return Draft(premise, self.event(sense, agent, patient, not negated), "clauses: denied")
        other = four if agent is one else two
        return Draft(premise, self.event(sense, agent, other, negated), "clauses: mixed")

    def states(self, label: str) -> Draft:
        """Two things in two states; the hypothesis gives one of them one of the states."""
        sampler = self.sampler
        kind = sampler.pick(STATE_KINDS)
        opposite = label != "neutral" and sampler.chance(0.6)
        one, two = self.two_adjectives(kind, opposite)
        first = self.definite(self.one_of(kind))
        second = self.definite(self.one_of(kind, (first,)))
        premise = self.state(first, one, False)
        premise.coordinate = ("and", self.state(second, two, False))
        flip = sampler.chance(0.5)
        subject, own, other = (second, two, one) if flip else (first, one, two)
        if label == "neutral":
            return Draft(premise, self.state(subject, other, sampler.chance(0.5)), "states: unknown")
        crossed = opposite and sampler.chance(0.8)
        negated = crossed == (label == "entailment")
        how = "opposite state" if crossed else "own state"
        return Draft(premise, self.state(subject, other if crossed else own, negated), f"states: {how}")

    def scope(self, label: str) -> Draft:
        """One of the two has an adverbial more; negation turns the direction of entailment round."""
        sampler = self.sampler
        kind = sampler.pick(TAXONOMY_KINDS)
        sense = sampler.pick(DONE_TO[kind])
        agent = self.someone("person")
        patient = self.definite(self.one_of(kind, (agent,)))
        slots = ("place", "when") if sampler.chance(0.5) else ("when", "place")
        extra = self.adverbial(slots[0])
        shared = (self.adverbial(slots[1]),) if sampler.chance(0.5) else ()
        premise_denied, hypothesis_denied, more = self.directions(label)
        premise = self.event(sense, agent, patient, premise_denied)
        hypothesis = self.event(sense, agent, patient, hypothesis_denied)
        premise.adverbials = (*shared, extra) if not more else shared
        hypothesis.adverbials = (*shared, extra) if more else shared
        how = "added" if more else "dropped"
        return Draft(premise, hypothesis, f"scope: {how}, {polarity(premise_denied)} to {polarity(hypothesis_denied)}")

    def adverbial(self, slot: str) -> Adverbial:
        """Where, or when."""
        if slot == "place":
            return self.place_adverbial()
        if self.sampler.chance(0.6):
            return Adverbial(self.unit(), "time", weekday=self.sampler.pick(derivation_tables.WEEKDAYS))
        return Adverbial(self.unit(), "time", adverb=self.sampler.pick(WHEN[self.tense]))

    def taxonomy(self, label: str) -> Draft:
        """One of the two has the more general noun; negation turns the direction of entailment round."""
        sampler = self.sampler
        kind = sampler.pick(TAXONOMY_KINDS)
        sense = sampler.pick(DONE_TO[kind])
        agent = self.someone("person")
        special = Common(self.unit(), sampler.pick(SPECIFIC[kind]), False, A)
        general = replace(special, noun=HYPERNYMS[kind])
        premise_denied, hypothesis_denied, more = self.directions(label)
        first, second = (general, special) if more else (special, general)
        premise = Clause(self.unit(), agent, sense, first, tense=self.tense, negated=premise_denied)
        hypothesis = Clause(self.unit(), agent, sense, second, tense=self.tense, negated=hypothesis_denied)
        if sampler.chance(0.5):
            premise.adverbials = hypothesis.adverbials = (self.adverbial("place" if sampler.chance(0.5) else "when"),)
        how = "special" if more else "general"
        return Draft(
            premise, hypothesis, f"taxonomy: {how}, {polarity(premise_denied)} to {polarity(hypothesis_denied)}"
        )

    def directions(self, label: str) -> tuple[bool, bool, bool]:
        """Whether premise and hypothesis are denied, and whether the hypothesis says more."""
        premise_denied = self.sampler.chance(0.5)
        if label == "neutral":
            hypothesis_denied = self.sampler.chance(0.5)
            return premise_denied, hypothesis_denied, not premise_denied
        # Less follows from more, and the denial of more from the denial of less.
        return premise_denied, premise_denied == (label == "entailment"), premise_denied


def polarity(denied: bool) -> str:
    """`denied` or `said`."""
    return "denied" if denied else "said"
