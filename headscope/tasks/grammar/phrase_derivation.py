"""Random noun phrases and adverbials."""

from __future__ import annotations

from headscope.tasks.grammar import derivation_tables
from headscope.tasks.grammar.lexicon import function_words as words
from headscope.tasks.grammar.lexicon.lexemes import Noun, Preposition
from headscope.tasks.grammar.lexicon.names import person_name, place_name
from headscope.tasks.grammar.phrases import STRIDE, Adverbial, Common, Name, Pair, Phrase, Pronoun
from headscope.tasks.grammar.sampler import Sampler, Table


class PhraseDeriver:
    """Draws noun phrases and adverbials through one sampler."""

    def __init__(self, sampler: Sampler) -> None:
        """Start a derivation; `alone` holds until something was said that a pronoun could mean."""
        self.sampler = sampler
        self.units = 0
        self.determiners = derivation_tables.DETERMINERS
        self.alone = True
        self.tenses = derivation_tables.TENSES

    def unit(self) -> int:
        """A fresh range of units."""
        self.units += STRIDE
        return self.units

    # Noun phrases

    def argument(self, kinds: tuple[str, ...], scoped: bool = True) -> Phrase:
        """A subject, object or recipient of one of the kinds; `scoped` admits determiners such as `every` and `no`."""
        sampler = self.sampler
        if "person" in kinds:
            if sampler.chance(0.17):
                return self.person()
            if sampler.chance(0.13):
                table = derivation_tables.PRONOUNS if self.alone else derivation_tables.SPEAKERS
                return Pronoun(self.unit(), sampler.pick(table))
        if kinds[0] == "building" and "place" in kinds and sampler.chance(0.25):
            return self.place()
        if sampler.chance(0.07):
            return self.pair(kinds, scoped)
        return self.common(kinds, scoped=scoped)

    def person(self) -> Name:
        """A person by name."""
        name, pronoun = person_name(self.sampler)
        return Name(self.unit(), name, pronoun, "person")

    def place(self) -> Name:
        """A place by name."""
        return Name(self.unit(), place_name(self.sampler), "", "place")

    def pair(self, kinds: tuple[str, ...], scoped: bool) -> Pair:
        """Two phrases of the same kind joined by `and`, both definite under negation."""
        unit = self.unit()
        one = self.simple(self.sampler.pick(derivation_tables.nouns(kinds)), scoped=False, definite=not scoped)
        if one.kind == "person" and self.sampler.chance(0.3):
            return Pair(unit, one, self.person())
        noun = self.sampler.pick(derivation_tables.nouns((one.kind,)))
        return Pair(unit, one, self.simple(noun, scoped=False, definite=not scoped))

    def common(self, kinds: tuple[str, ...], scoped: bool = True) -> Common:
        """A full noun phrase, perhaps with a noun of two meanings and a cue for it."""
        sampler = self.sampler
        kind_tables = derivation_tables.AMBIGUOUS_BY_KIND
        if kinds[0] in kind_tables and sampler.chance(0.06):
            return self.cued(sampler.pick(kind_tables[kinds[0]]), scoped)
        phrase = self.simple(sampler.pick(derivation_tables.nouns(kinds)), scoped=scoped, rich=True)
        self.modify(phrase)
        return phrase

    def cued(self, noun: Noun, scoped: bool) -> Common:
        """An ambiguous noun with an adjective that decides its meaning."""
        phrase = self.bare(noun, scoped)
        phrase.adjectives = (self.sampler.pick(derivation_tables.CUES[noun]),)
        return phrase

    def bare(self, noun: Noun, scoped: bool = True, definite: bool = False, counted: float = 0.0) -> Common:
        """Number and determiner only; `counted` is the chance of a number word before a plural."""
        sampler = self.sampler
        plural = noun.countable and sampler.chance(0.3)
        if plural and sampler.chance(counted):
            number = sampler.pick(derivation_tables.NUMBERS)
            return Common(self.unit(), noun, plural, sampler.pick(derivation_tables.NUMBERED), number=number)
        table = self.determiners[plural, scoped, definite, noun.countable]
        return Common(self.unit(), noun, plural, sampler.pick(table))

    def simple(self, noun: Noun, scoped: bool = True, definite: bool = False, rich: bool = False) -> Common:
        """Determiner, perhaps a number and adjectives, noun, perhaps compound."""
        sampler = self.sampler
        phrase = self.bare(noun, scoped, definite, 0.2 if rich else 0.0)
        firsts = derivation_tables.FIRSTS.get(noun.kind)
        if firsts and sampler.chance(0.16):
            phrase.first = sampler.pick(firsts)
        if derivation_tables.DESCRIBED[noun.kind] and sampler.chance(0.4 if rich else 0.22):
            self.describe(phrase)
        return phrase

    def describe(self, phrase: Common) -> None:
        """Give the phrase an adjective."""
        phrase.adjectives = (self.sampler.pick(derivation_tables.adjectives(phrase.kind)),)

    def modify(self, phrase: Common) -> None:
        """Perhaps add a prepositional phrase to the noun."""
        owned = phrase.determiner.relation == "nmod:poss"
        table = (derivation_tables.OWNED_TABLES if owned else derivation_tables.MODIFIER_TABLES).get(phrase.kind)
        if table and self.sampler.chance(0.16):
            preposition, kinds = self.sampler.pick(table)
            phrase.modifier = (preposition, self.dependent(preposition, kinds))

    def dependent(self, preposition: Preposition, kinds: tuple[str, ...]) -> Phrase:
        """What stands after a preposition."""
        sampler = self.sampler
        if preposition is words.FROM and sampler.chance(0.6):
            return self.place()
        if "person" in kinds and sampler.chance(0.2):
            return self.person()
        return self.simple(sampler.pick(derivation_tables.nouns(kinds)), scoped=False, definite=preposition is words.OF)

    # Adverbials

    def place_adverbial(self) -> Adverbial:
        """Where it happens."""
        sampler = self.sampler
        unit = self.unit()
        if sampler.chance(0.2):
            return Adverbial(unit, "place", preposition=words.IN, phrase=self.place())
        if sampler.chance(0.06):
            return Adverbial(unit, "place", number=str(100 + sampler.below(900)))
        return self.prepositional("place", derivation_tables.PLACES, unit)

    def time_adverbial(self, tense: str) -> Adverbial:
        """When it happens, or despite what."""
        sampler = self.sampler
        unit = self.unit()
        if sampler.chance(0.55):
            return Adverbial(unit, "time", adverb=sampler.pick(derivation_tables.TIME_ADVERBS[tense]))
        if tense != "perfect" and sampler.chance(0.3):
            return Adverbial(unit, "time", weekday=sampler.pick(derivation_tables.WEEKDAYS))
        if tense == "past" and sampler.chance(0.25):
            return Adverbial(unit, "time", number=str(1100 + sampler.below(900)))
        return self.prepositional("time", derivation_tables.TIMES, unit)

    def prepositional(self, slot: str, table: Table[tuple[Preposition, tuple[str, ...]]], unit: int) -> Adverbial:
        """A prepositional phrase as an adverbial."""
        preposition, kinds = self.sampler.pick(table)
        noun = self.sampler.pick(derivation_tables.nouns(kinds))
        phrase = self.simple(noun, scoped=False, definite=preposition.case == "gen")
        return Adverbial(unit, slot, preposition=preposition, phrase=phrase)
