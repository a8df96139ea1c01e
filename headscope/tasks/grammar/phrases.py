"""The nodes of a derivation: what is said, before it is said in English or German.

Every node owns the numbers `unit` to `unit + 15`; both renderings mark their words with them, which aligns the two.
"""

from __future__ import annotations

from dataclasses import dataclass

from headscope.tasks.grammar.lexicon.function_words import THE
from headscope.tasks.grammar.lexicon.lexemes import Adjective, Adverb, Determiner, Noun, Preposition, Sense

# Offsets into the units of a noun phrase.
HEAD, DET, ADJECTIVE, NUMBER, FIRST, CASE, CONJUNCTION = 0, 1, 2, 4, 6, 7, 10
# Offsets into the units of a clause.
VERB, AUX, NOT, PARTICLE, MARKER, PREPOSITION, AGENT, PREDICATE, PUNCT, COMMA, ASKED = (
    0,
    1,
    4,
    5,
    6,
    7,
    8,
    9,
    10,
    11,
    12,
)
STRIDE = 16


@dataclass(slots=True, eq=False)
class Common:
    """A noun phrase with a noun."""

    unit: int
    noun: Noun
    plural: bool = False
    determiner: Determiner = THE
    adjectives: tuple[Adjective, ...] = ()
    number: int = 0
    first: tuple[str, str] | None = None
    modifier: tuple[Preposition, Phrase] | None = None
    relative: Clause | None = None

    @property
    def kind(self) -> str:
        """The kind of the noun."""
        return self.noun.kind

    @property
    def lemma(self) -> str:
        """The English noun with the first part of a compound."""
        return f"{self.first[0]} {self.noun.english}" if self.first else self.noun.english

    @property
    def pronoun(self) -> str:
        """The English pronoun that can stand for it, "" for none."""
        if self.determiner.german in ("kein", "jed"):
            return ""
        return "they" if self.plural else self.noun.pronoun


@dataclass(slots=True, eq=False)
class Name:
    """A person or a place by name; places have no pronoun."""

    unit: int
    name: str
    pronoun: str
    kind: str


@dataclass(slots=True, eq=False)
class Pronoun:
    """A personal pronoun, with what it stands for if that was mentioned."""

    unit: int
    form: str
    antecedent: Common | Name | None = None

    @property
    def kind(self) -> str:
        """The kind of what it stands for."""
        return self.antecedent.kind if self.antecedent else "person"


@dataclass(slots=True, eq=False)
class Relative:
    """The relative pronoun for a noun phrase."""

    unit: int
    head: Common


@dataclass(slots=True, eq=False)
class Asked:
    """`who` or `what`."""

    unit: int
    form: str


@dataclass(slots=True, eq=False)
class Pair:
    """Two noun phrases joined by `and`."""

    unit: int
    one: Common | Name
    two: Common | Name


Phrase = Common | Name | Pronoun | Relative | Asked | Pair


@dataclass(slots=True, eq=False)
class Adverbial:
    """An adverb, a prepositional phrase or a fixed expression; `slot` is time, often, manner or place."""

    unit: int
    slot: str
    adverb: Adverb | None = None
    preposition: Preposition | None = None
    phrase: Phrase | None = None
    number: str = ""
    weekday: str = ""
    fronted: bool = False


@dataclass(slots=True, eq=False)
class Clause:
    """A clause. In a passive the subject is the patient; `goal` is where something goes or is put."""

    unit: int
    subject: Phrase
    sense: Sense | None
    object: Phrase | None = None
    recipient: Phrase | None = None
    recipient_last: bool = False
    agent: Phrase | None = None
    predicate: Adjective | None = None
    goal: tuple[Preposition, Phrase] | None = None
    tense: str = "past"
    modal: str = ""
    negated: bool = False
    passive: bool = False
    mood: str = "statement"
    adverbials: tuple[Adverbial, ...] = ()
    object_fronted: bool = False
    asked_adverb: str = ""
    marker: str = ""
    complement: Clause | None = None
    subordinate: Clause | None = None
    subordinate_first: bool = False
    coordinate: tuple[str, Clause] | None = None

    @property
    def subject_kind(self) -> str:
        """The kind of the subject."""
        return kind_of(self.subject)


def is_plural(phrase: Phrase) -> bool:
    """Whether the verb is plural with this subject."""
    if isinstance(phrase, Common):
        return phrase.plural
    if isinstance(phrase, Pronoun):
        return phrase.form in ("we", "they")
    if isinstance(phrase, Relative):
        return phrase.head.plural
    return isinstance(phrase, Pair)


def kind_of(phrase: Phrase) -> str:
    """The kind of what a phrase stands for."""
    if isinstance(phrase, Relative):
        return phrase.head.kind
    if isinstance(phrase, Pair):
        return phrase.one.kind
    return "person" if isinstance(phrase, Asked) else phrase.kind


def is_definite(phrase: Phrase) -> bool:
    """Whether German puts the phrase before adverbs and negation."""
    return phrase.determiner.definite if isinstance(phrase, Common) else True
