"""The tables the derivation draws from, made once."""

from __future__ import annotations

import math
from functools import cache

from headscope.tasks.grammar.lexicon import function_words as words
from headscope.tasks.grammar.lexicon.adjectives import ADJECTIVES
from headscope.tasks.grammar.lexicon.ambiguous import AMBIGUOUS
from headscope.tasks.grammar.lexicon.lexemes import Adjective, Adverb, Determiner, Noun, Preposition, Sense, Verb
from headscope.tasks.grammar.lexicon.nouns import FIRST_NOUNS, NOUNS
from headscope.tasks.grammar.lexicon.verbs import VERBS
from headscope.tasks.grammar.sampler import Table

SINGULAR = {
    words.THE: 42, words.A: 20, words.THIS: 7, words.THAT: 4, words.EVERY: 4, words.NO: 3, words.MY: 5, words.YOUR: 2,
    words.HIS: 4, words.HER: 4, words.OUR: 2, words.THEIR: 3,
}  # fmt: skip
PLURAL = {
    words.THE: 40, words.BARE: 10, words.THIS: 6, words.THAT: 3, words.MY: 4, words.YOUR: 2, words.HIS: 3, words.HER: 3,
    words.OUR: 2, words.THEIR: 3, words.SOME: 9, words.MANY: 6, words.SEVERAL: 3, words.FEW: 2, words.ALL: 4,
    words.NO: 2,
}  # fmt: skip
SCOPED = (words.EVERY, words.NO, words.ALL, words.MANY, words.FEW, words.SOME, words.SEVERAL)
DEFINITE = (words.THE, words.THIS, words.THAT, words.MY, words.YOUR, words.HIS, words.HER, words.OUR, words.THEIR)
NUMBERED = Table([(words.BARE, 5), (words.THE, 4), (words.MY, 1), (words.THIS, 1), (words.HIS, 1)])
NUMBERS = Table([(n, 1.2) for n in range(2, 13)] + [(n, 0.6) for n in range(20, 100)])


def determiner_table(
    weights: dict[Determiner, int], scoped: bool, definite: bool, countable: bool
) -> Table[Determiner]:
    """The determiners admissible here."""
    return Table(
        (determiner, float(weight))
        for determiner, weight in weights.items()
        if (scoped or determiner not in SCOPED)
        and (not definite or determiner in DEFINITE)
        and (countable or determiner in DEFINITE or (scoped and determiner is words.NO))
    )


DeterminerTables = dict[tuple[bool, bool, bool, bool], Table[Determiner]]


def determiner_tables(without: tuple[Determiner, ...] = ()) -> DeterminerTables:
    """A table for each (plural, scoped, definite, countable)."""
    singular, plural = (
        {determiner: weight for determiner, weight in weights.items() if determiner not in without}
        for weights in (SINGULAR, PLURAL)
    )
    return {
        (many, scoped, definite, countable): determiner_table(plural if many else singular, scoped, definite, countable)
        for many in (False, True)
        for scoped in (False, True)
        for definite in (False, True)
        for countable in (False, True)
    }


DETERMINERS = determiner_tables()
NEW_DETERMINERS = determiner_tables(without=(words.THE,))


@cache
def nouns(kinds: tuple[str, ...]) -> Table[Noun]:
    """Nouns of the given kinds, Zipf within each kind, kinds weighted by the root of their size."""
    weighted: list[tuple[Noun, float]] = []
    for kind in kinds:
        scale = len(NOUNS[kind]) ** 0.5
        harmonic = sum(1 / (noun.rank + 3) for noun in NOUNS[kind])
        weighted.extend((noun, scale / (noun.rank + 3) / harmonic) for noun in NOUNS[kind])
    return Table(weighted)


@cache
def adjectives(kind: str) -> Table[Adjective]:
    """Adjectives for a kind of noun; those with several German words get three times the weight."""
    return Table(
        (adjective, (3 if len(set(adjective.german.values())) > 1 else 1) / (rank + 8))
        for rank, adjective in enumerate(ADJECTIVES)
        if kind in adjective.german
    )


def has_adjectives(kind: str) -> bool:
    """Whether any adjective goes with the kind."""
    return any(kind in adjective.german for adjective in ADJECTIVES)


DESCRIBED = {kind: has_adjectives(kind) for kind in NOUNS}
FIRSTS: dict[str, Table[tuple[str, str]]] = {kind: Table.zipf(pairs.items(), 4) for kind, pairs in FIRST_NOUNS.items()}
TRANSITIVE_GROUPS = Table([("object-sense", 0.5), ("subject-sense", 0.08), ("transitive", 0.42)])
VERB_TABLES: dict[str, Table[Verb]] = {group: Table.zipf(verbs, 8) for group, verbs in VERBS.items()}
SENSES: dict[Verb, Table[Sense]] = {verb: Table.even(verb.senses) for verbs in VERBS.values() for verb in verbs}
WEIGHTS = {"object-sense": 0.5, "subject-sense": 0.08, "transitive": 0.42, "intransitive": 1.0}


@cache
def senses(groups: tuple[str, ...], subject: str, what: str) -> Table[Sense] | None:
    """Senses of the verbs of some groups that go with a kind of subject and object ("" for any)."""
    weighted = [
        (sense, WEIGHTS[group] / (rank + 8) / len(VERBS[group]) ** 0.5)
        for group in groups
        for rank, verb in enumerate(VERBS[group])
        for sense in verb.senses
        if (not subject or subject in sense.subjects) and (not what or what in sense.objects)
    ]
    return Table(weighted) if weighted else None


@cache
def passive_senses(what: str) -> Table[Sense] | None:
    """Senses that can be passive with a kind of patient ("" for any)."""
    weighted = [
        (sense, WEIGHTS[group] / (rank + 8) / len(VERBS[group]) ** 0.5)
        for group in ("object-sense", "subject-sense", "transitive")
        for rank, verb in enumerate(VERBS[group])
        for sense in verb.senses
        if can_be_passive(sense) and (not what or what in sense.objects)
    ]
    return Table(weighted) if weighted else None


@cache
def pronoun_senses(what: str) -> Table[Sense] | None:
    """Senses that take a pronoun for something of this kind; German has no `auf es`."""
    found = senses(("object-sense", "subject-sense", "transitive"), "", what)
    if found is None or what == "person":
        return found
    pairs = zip(found.options, found.logs, strict=True)
    weighted = [(sense, math.exp(log)) for sense, log in pairs if not sense.preposition]
    return Table(weighted) if weighted else None


@cache
def roles(kind: str) -> Table[str]:
    """What a pronoun for something of this kind can be in its clause."""
    weights = {
        "copular": 2.0 * DESCRIBED[kind],
        "passive": 1.0 * (passive_senses(kind) is not None),
        "object": 4.0 * (pronoun_senses(kind) is not None),
        "subject": 3.0
        * (senses(("object-sense", "subject-sense", "transitive", "intransitive"), kind, "") is not None),
    }
    return Table(weights.items())


@cache
def gaps(kind: str) -> Table[str]:
    """What a relative pronoun for something of this kind can be in its clause."""
    transitive = ("object-sense", "subject-sense", "transitive")
    weights = {
        "subject": 1.0 * (senses((*transitive, "intransitive"), kind, "") is not None),
        "object": 1.0 * (senses(transitive, "", kind) is not None),
    }
    return Table(weights.items())


def required(table: Table[Sense] | None) -> Table[Sense]:
    """The table, which the caller knows not to be empty."""
    if table is None:
        raise ValueError("no verb goes with these kinds of noun")
    return table


def can_be_passive(sense: Sense) -> bool:
    """Whether German has a personal passive of it."""
    return sense.case == "acc" and not sense.preposition and not sense.verb.preposition and bool(sense.objects)


def cue_senses(noun: Noun, lemmas: tuple[str, ...], role: str) -> list[Sense]:
    """The senses of the cue verbs in which the noun is subject or object."""
    groups = ("intransitive",) if role == "subject" else ("object-sense", "subject-sense", "transitive")
    return [
        sense
        for group in groups
        for verb in VERBS[group]
        if verb.lemma in lemmas and not verb.particle and not verb.preposition
        for sense in verb.senses
        if noun.kind in (sense.subjects if role == "subject" else sense.objects)
    ]


AMBIGUOUS_BY_KIND: dict[str, Table[Noun]] = {
    kind: Table.even(noun for noun in AMBIGUOUS if noun.kind == kind) for kind in {noun.kind for noun in AMBIGUOUS}
}
CUES: dict[Noun, Table[Adjective]] = {noun: Table.even(noun.adjective_cues) for noun in AMBIGUOUS}
SUBJECT_CUES: dict[Noun, Table[Sense]] = {
    noun: Table.even(cue_senses(noun, noun.subject_cues, "subject")) for noun in AMBIGUOUS if noun.subject_cues
}
OBJECT_CUES: dict[Noun, Table[Sense]] = {
    noun: Table.even(cue_senses(noun, noun.object_cues, "object")) for noun in AMBIGUOUS if noun.object_cues
}
CUED_SUBJECTS = Table.even(SUBJECT_CUES)
CUED_OBJECTS = Table.even(OBJECT_CUES)

THINGS = ("paper", "clothing", "tool", "vessel", "furniture", "instrument", "device", "opening", "car", "cycle")
BEINGS = ("person", "animal", "mount")
MODIFIERS: dict[str, list[tuple[tuple[Preposition, tuple[str, ...]], float]]] = {}
for _kind in (*BEINGS, *THINGS, "building", "picture", "tree", "flower", "plan", "group", "machine"):
    MODIFIERS[_kind] = [((words.OF, ("person",)), 3.0)]
for _kind in (*BEINGS, *THINGS, "building", "tree"):
    MODIFIERS[_kind].append(((words.NEXT_TO, ("building", "furniture", "tree", "person", "car")), 3.0))
MODIFIERS["person"] += [
    ((words.WITH, ("clothing", "tool", "animal")), 3.0),
    ((words.WITHOUT, ("clothing", "tool")), 1.0),
    ((words.FROM, ("place",)), 2.0),
]
MODIFIERS["building"] += [((words.WITH, ("opening", "room")), 2.0), ((words.WITHOUT, ("opening",)), 0.5)]
MODIFIERS["paper"] += [((words.ABOUT, ("person", "animal", "place", "event")), 4.0)]
for _kind in ("paper", "clothing", "tool", "vessel", "instrument"):
    MODIFIERS[_kind].append(((words.FOR, ("person",)), 2.0))
MODIFIER_TABLES = {kind: Table(options) for kind, options in MODIFIERS.items()}
# "my hat of the teacher" has an owner too many.
OWNED_TABLES = {
    kind: Table(rest)
    for kind, options in MODIFIERS.items()
    if (rest := [(option, weight) for option, weight in options if option[0] is not words.OF])
}

PLACES: Table[tuple[Preposition, tuple[str, ...]]] = Table(
    [
        ((words.IN, ("building", "room", "place")), 5.0),
        ((words.AT, ("water",)), 1.5),
        ((words.ON, ("furniture",)), 1.0),
        ((words.BEHIND, ("building", "tree")), 1.5),
        ((words.UNDER, ("tree", "furniture")), 1.0),
        ((words.IN_FRONT_OF, ("building", "opening")), 1.5),
        ((words.NEAR, ("building", "water")), 1.0),
    ]
)
TIMES: Table[tuple[Preposition, tuple[str, ...]]] = Table(
    [
        ((words.DURING, ("event",)), 2.0),
        ((words.AFTER, ("event",)), 1.5),
        ((words.BEFORE, ("event",)), 1.5),
        ((words.BECAUSE_OF, ("weather",)), 1.5),
        ((words.DESPITE, ("weather",)), 1.0),
    ]
)
TARGETS: Table[tuple[Preposition, tuple[str, ...]]] = Table(
    [
        ((words.ONTO, ("furniture",)), 4.0),
        ((words.TO_UNDER, ("furniture", "tree")), 1.0),
        ((words.TO_BEHIND, ("furniture", "opening")), 1.0),
        ((words.BESIDE, ("furniture", "opening")), 1.0),
    ]
)

TENSES = Table([("past", 36), ("present", 28), ("perfect", 14), ("future", 10), ("modal", 12)])
LATER_TENSES = {
    "past": Table([("past", 1)]),
    "present": Table([("present", 5), ("perfect", 3), ("modal", 2)]),
    "perfect": Table([("present", 5), ("perfect", 3), ("modal", 2)]),
    "future": Table([("present", 5), ("perfect", 3), ("modal", 2)]),
    "modal": Table([("present", 5), ("perfect", 3), ("modal", 2)]),
}
MODALS = Table([("can", 4), ("must", 4), ("should", 3)])
TIME_ADVERBS: dict[str, Table[Adverb]] = {
    tense: Table.zipf(adverb for adverb in words.TIME_ADVERBS if tense in adverb.tenses)
    for tense in ("past", "present", "perfect", "future", "modal")
}
OFTEN = Table.zipf(words.OFTEN_ADVERBS, 3)
MANNERS = Table.zipf(words.MANNER_ADVERBS, 3)
WEEKDAYS = Table.even(words.WEEKDAYS)
PRONOUNS = Table([("he", 4), ("she", 4), ("I", 3), ("we", 2), ("they", 3), ("you", 2)])
SPEAKERS = Table([("I", 3), ("we", 2), ("you", 2)])
MARKERS = Table([("because", 4), ("when", 3), ("although", 3), ("if", 2), ("while", 1), ("before", 1)])
STRUCTURES = Table([("simple", 42), ("question", 14), ("subordinate", 20), ("complement", 8), ("coordinate", 16)])
FRAMES = Table(
    [
        ("transitive", 46), ("intransitive", 13), ("ditransitive", 10), ("copular", 11), ("passive", 11), ("motion", 5),
        ("put", 6), ("cued-subject", 3), ("cued-object", 4),
    ]
)  # fmt: skip
POLARITIES = Table([("plain", 76), ("negated", 13), ("often", 11)])
QUESTION_POLARITIES = Table([("plain", 88), ("negated", 12)])
QUESTIONS = Table(
    [("yes-no", 46), ("who", 12), ("whom", 7), ("which", 14), ("what", 6), ("where", 5), ("when", 5), ("why", 5)]
)
CONJUNCTIONS = Table([("and", 2), ("but", 1)])
STATIVE_LEMMAS = """
    know love hate need understand see hear trust believe keep miss forget lose recognise admire find discover
"""
STATIVE = frozenset(STATIVE_LEMMAS.split())
COPULAR_KINDS = tuple(kind for kind in NOUNS if DESCRIBED[kind] and kind not in ("time", "fact", "group"))
WHOM_SENSES = Table(
    (sense, 1 / (rank + 8))
    for group in ("object-sense", "transitive")
    for rank, verb in enumerate(VERBS[group])
    for sense in verb.senses
    if "person" in sense.objects and "person" in sense.subjects and not sense.preposition and not verb.preposition
)
WHAT_SENSES = Table(
    (verb.senses[0], 1 / (rank + 8))
    for rank, verb in enumerate(VERBS["transitive"])
    if "person" not in verb.senses[0].objects
    and not set(BEINGS) & set(verb.senses[0].objects)
    and can_be_passive(verb.senses[0])
)
STORY_TENSES = Table(
    [(Table([("past", 1)]), 3), (Table([("present", 14), ("perfect", 3), ("future", 2), ("modal", 3)]), 2)]
)
STORY_LENGTHS = Table([(2, 2), (3, 3), (4, 3), (5, 2)])
