"""What the lexicon knows about a word: its English and German form and where it may stand."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, eq=False)
class Noun:
    """A noun sense. `gender` is m, f or n; `pronoun` is the English pronoun that may stand for it, if any."""

    english: str
    english_plural: str
    german: str
    gender: str
    german_plural: str
    kind: str
    weak: bool = False
    pronoun: str = ""
    rank: int = 0
    adjective_cues: tuple[Adjective, ...] = ()
    subject_cues: tuple[str, ...] = ()
    object_cues: tuple[str, ...] = ()

    @property
    def countable(self) -> bool:
        """Whether the noun has a plural and takes an indefinite article."""
        return self.german_plural != "-"

    @property
    def ambiguous(self) -> bool:
        """Whether the English word has another sense, so that a cue must be in the sentence."""
        return bool(self.adjective_cues)


@dataclass(frozen=True, slots=True, eq=False)
class Adjective:
    """An English adjective; its German depends on the kind of the noun."""

    english: str
    german: dict[str, str]
    opposite: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class GermanVerb:
    """Principal parts; see `german_verbs.parse`."""

    infinitive: str
    particle: str
    present_third: str
    past: str
    participle: str
    auxiliary: str


@dataclass(frozen=True, slots=True, eq=False)
class Sense:
    """One reading of an English verb: who does it to what, and what German calls it.

    `case` is the German case of the object, `preposition` the German preposition before it ("" for none).
    """

    verb: Verb
    german: GermanVerb
    subjects: tuple[str, ...]
    objects: tuple[str, ...] = ()
    case: str = "acc"
    preposition: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class Verb:
    """An English verb with its forms; `particle` as in "pick up", `preposition` as in "wait for"."""

    lemma: str
    third: str
    past: str
    participle: str
    frame: str
    particle: str = ""
    preposition: str = ""
    senses: list[Sense] = field(default_factory=list)


@dataclass(frozen=True, slots=True, eq=False)
class Determiner:
    """`pattern` says how German declines it and the adjective after it: der, dieser, ein, strong or bare (none)."""

    singular: str
    plural: str
    german: str
    pattern: str
    definite: bool
    relation: str = "det"


@dataclass(frozen=True, slots=True, eq=False)
class Preposition:
    """An English preposition (of one or more words) and its German one with the case it governs."""

    english: tuple[str, ...]
    german: str
    case: str


@dataclass(frozen=True, slots=True, eq=False)
class Adverb:
    """`slot` is time, often or manner; `tenses` the tenses a time adverb goes with."""

    english: str
    german: str
    slot: str
    tenses: tuple[str, ...] = ()
