"""A derivation in German: words with the units of the English words they stand for."""

from __future__ import annotations

from headscope.tasks.grammar import phrases as node
from headscope.tasks.grammar.languages.german_forms import (
    BY_GENDER,
    CONTRACTIONS,
    PERSONAL,
    RELATIVE,
    WHO,
    adjective_ending,
    adjective_form,
    determiner_form,
    noun_form,
    slot,
)
from headscope.tasks.grammar.languages.german_verbs import HABEN, MODALS, SEIN, WERDEN, past, present
from headscope.tasks.grammar.lexicon.function_words import SUBORDINATORS, WEEKDAYS, german_number
from headscope.tasks.grammar.lexicon.lexemes import GermanVerb, Preposition
from headscope.tasks.grammar.phrases import Adverbial, Asked, Clause, Common, Name, Phrase, Pronoun, Relative

Word = tuple[str, tuple[int, ...]]
COMMA: Word = (",", ())
ASKED_ADVERBS = {"where": "wo", "when": "wann", "why": "warum"}


def sentence(clause: Clause) -> list[Word]:
    """The whole sentence with its final punctuation."""
    words = main_clause(clause)
    words.append(("?" if clause.mood != "statement" else ".", (clause.unit + node.PUNCT,)))
    return [word for word, after in zip(words, [*words[1:], COMMA], strict=True) if not redundant(word, after)]


def redundant(word: Word, after: Word) -> bool:
    """Whether a comma stands before another comma or the end."""
    return word[0] == "," and after[0] in (",", ".", "?")


# Noun phrases


def phrase_words(phrase: Phrase, case: str) -> list[Word]:
    """A noun phrase in a case."""
    if isinstance(phrase, Common):
        return common_words(phrase, case)
    if isinstance(phrase, Name):
        return [(phrase.name, (phrase.unit,))]
    if isinstance(phrase, Pronoun):
        return [(pronoun_form(phrase, case), (phrase.unit,))]
    if isinstance(phrase, Relative):
        head = phrase.head
        return [(RELATIVE[case][slot(head.noun.gender, head.plural)], (phrase.unit,))]
    if isinstance(phrase, Asked):
        return [(WHO[case] if phrase.form == "who" else "was", (phrase.unit,))]
    conjunction: Word = ("und", (phrase.unit + node.CONJUNCTION,))
    return [*phrase_words(phrase.one, case), conjunction, *phrase_words(phrase.two, case)]


def pronoun_form(pronoun: Pronoun, case: str) -> str:
    """The pronoun; `it` has the gender of what it stands for."""
    form = pronoun.form
    if form == "it" and isinstance(pronoun.antecedent, Common):
        form = BY_GENDER[pronoun.antecedent.noun.gender]
    return PERSONAL[form][case]


def common_words(phrase: Common, case: str, denied: tuple[int, ...] = ()) -> list[Word]:
    """Determiner, number, adjectives, noun, then what follows; `denied` is the unit of a `not` said as `kein`."""
    noun, plural, unit = phrase.noun, phrase.plural, phrase.unit
    pattern = phrase.determiner.pattern
    words: list[Word] = []
    form = determiner_form(phrase.determiner, case, noun.gender, plural)
    if denied:
        form = "k" + (form or determiner_form_of_ein(case))
        pattern = "ein"
    if form:
        words.append((form, (unit + node.DET, *denied)))
    if phrase.number:
        words.append((german_number(phrase.number), (unit + node.NUMBER, unit + node.NUMBER + 1)))
    if phrase.adjectives:
        ending = adjective_ending(pattern, case, noun.gender, plural)
        for index, adjective in enumerate(phrase.adjectives):
            words.append((adjective_form(adjective.german[noun.kind], ending), (unit + node.ADJECTIVE + index,)))
    form = noun_form(noun, case, plural)
    if phrase.first:
        words.append((phrase.first[1] + form.lower(), (unit + node.FIRST, unit)))
    else:
        words.append((form, (unit,)))
    if phrase.modifier:
        words.extend(modifier_words(*phrase.modifier))
    if phrase.relative:
        words.extend([COMMA, *final_clause(phrase.relative), COMMA])
    return words


def determiner_form_of_ein(case: str) -> str:
    """The plural that follows k- where English has no article."""
    return "einen" if case == "dat" else "eine"


def modifier_words(preposition: Preposition, phrase: Phrase) -> list[Word]:
    """A prepositional phrase after a noun; `of` is a genitive where the determiner shows it."""
    if preposition.english == ("of",) and isinstance(phrase, Common) and shows_genitive(phrase):
        words = common_words(phrase, "gen")
        form, units = words[0]
        return [(form, (*units, phrase.unit + node.CASE)), *words[1:]]
    return prepositional(preposition.german, phrase, preposition.case, phrase.unit + node.CASE)


def shows_genitive(phrase: Common) -> bool:
    """Whether the phrase begins with a word that shows the case."""
    return phrase.determiner.pattern not in ("bare", "strong")


def prepositional(preposition: str, phrase: Phrase, case: str, unit: int) -> list[Word]:
    """Preposition and phrase, contracted where German does; a genitive that would not show becomes a dative."""
    if case == "gen" and not (isinstance(phrase, Common) and shows_genitive(phrase)):
        case = "dat"
    words = phrase_words(phrase, case)
    if not preposition:
        return words
    first, units = words[0]
    if isinstance(phrase, Common) and phrase.determiner.pattern == "der":
        contracted = CONTRACTIONS.get((preposition, first))
        if contracted:
            return [(contracted, (unit, *units)), *words[1:]]
    return [(preposition, (unit,)), *words]


# Verbs


def person_of(phrase: Phrase) -> str:
    """The German person a subject asks for."""
    if isinstance(phrase, Pronoun):
        return {"I": "ich", "you": "du", "we": "wir", "they": "sie"}.get(phrase.form, "er")
    return "sie" if node.is_plural(phrase) else "er"


def finite(verb: GermanVerb, tense: str, person: str) -> str:
    """Present or preterite."""
    return past(verb, person) if tense == "past" else present(verb, person)


def verb_words(clause: Clause) -> tuple[Word, list[Word], Word | None]:
    """The finite verb, the verbs at the end of the clause in order, and the separable particle if it stands alone."""
    unit, tense, person = clause.unit, clause.tense, person_of(clause.subject)
    verb = clause.sense.german if clause.sense else SEIN
    main: tuple[int, ...] = (unit + node.VERB, unit + node.PARTICLE)
    aux = (unit + node.AUX,)
    if clause.passive:
        return passive_words(clause, verb, person)
    if tense in ("past", "present"):
        particle: Word | None = (verb.particle, main) if verb.particle else None
        return (finite(verb, tense, person), (*main, *aux)), [], particle
    if tense == "perfect":
        helper = SEIN if verb.auxiliary == "sein" else HABEN
        return (present(helper, person), aux), [(verb.participle, main)], None
    helper = WERDEN if tense == "future" else modal_verb(clause)
    return (present(helper, person), aux), [(verb.infinitive, main)], None


def modal_verb(clause: Clause) -> GermanVerb:
    """The modal; what must not be is what may not be."""
    denied = clause.negated or any(item.adverb and item.adverb.english == "never" for item in clause.adverbials)
    return MODALS["may" if denied and clause.modal == "must" else clause.modal]


def passive_words(clause: Clause, verb: GermanVerb, person: str) -> tuple[Word, list[Word], Word | None]:
    """The same for a passive with `werden`."""
    unit, tense = clause.unit, clause.tense
    aux, second = (unit + node.AUX,), (unit + node.AUX + 1,)
    participle: Word = (verb.participle, (unit + node.VERB, unit + node.PARTICLE))
    if tense in ("past", "present"):
        return (finite(WERDEN, tense, person), aux), [participle], None
    if tense == "perfect":
        return (present(SEIN, person), aux), [participle, ("worden", second)], None
    helper = WERDEN if tense == "future" else modal_verb(clause)
    return (present(helper, person), aux), [participle, ("werden", second)], None


# Clauses


def main_clause(clause: Clause) -> list[Word]:
    """Verb second, or verb first in a yes-no question."""
    verb, ending, particle = verb_words(clause)
    first, skipped = forefield(clause)
    words = [*first, verb, *middle(clause, skipped)]
    if particle:
        words.append(particle)
    words.extend(ending)
    words.extend(later_clauses(clause))
    return words


def final_clause(clause: Clause) -> list[Word]:
    """Verb last, after a subordinator or relative pronoun."""
    verb, ending, particle = verb_words(clause)
    words: list[Word] = []
    skipped = ""
    if clause.marker:
        words.append((subordinator(clause), (clause.unit + node.MARKER,)))
    elif isinstance(clause.subject, Relative):
        words.extend(phrase_words(clause.subject, "nom"))
        skipped = "subject"
    else:
        words.extend(object_words(clause))
        skipped = "object"
    words.extend(middle(clause, skipped))
    if particle:
        verb = (particle[0] + verb[0], verb[1])
    words.extend([*ending, verb])
    words.extend(later_clauses(clause))
    return words


def subordinator(clause: Clause) -> str:
    """The German subordinator; `when` is `als` in the past."""
    if clause.marker == "when" and clause.tense == "past":
        return "als"
    return "dass" if clause.marker == "that" else SUBORDINATORS[clause.marker]


def forefield(clause: Clause) -> tuple[list[Word], str]:
    """What stands before the finite verb, and which part of the clause that was."""
    if clause.subordinate and clause.subordinate_first:
        return [*final_clause(clause.subordinate), COMMA], ""
    if clause.asked_adverb:
        return [(ASKED_ADVERBS[clause.asked_adverb], (clause.unit + node.ASKED,))], ""
    if clause.object_fronted and clause.object:
        return object_words(clause), "object"
    for adverbial in clause.adverbials:
        if adverbial.fronted:
            return adverbial_words(adverbial), "adverbial"
    if clause.mood == "yes-no":
        return [], ""
    return phrase_words(clause.subject, "nom"), "subject"


def object_words(clause: Clause) -> list[Word]:
    """The object in the case and with the preposition its verb asks for."""
    if clause.object is None or clause.sense is None:
        return []
    unit = clause.unit + node.PREPOSITION
    if clause.sense.preposition:
        return prepositional(clause.sense.preposition, clause.object, clause.sense.case, unit)
    words = phrase_words(clause.object, clause.sense.case)
    return [(words[0][0], (*words[0][1], unit)), *words[1:]] if clause.sense.verb.preposition else words


def says_kein(clause: Clause) -> bool:
    """Whether `not` is said as `kein` before an indefinite object."""
    what = clause.object
    if not (clause.negated and isinstance(what, Common)) or clause.object_fronted:
        return False
    plain = clause.sense is not None and not clause.sense.preposition
    return plain and not what.number and (what.determiner.singular == "a" or what.determiner.pattern == "bare")


def middle(clause: Clause, skipped: str) -> list[Word]:
    """Subject, pronouns, recipient, time, definite object, nicht, manner, place, indefinite object, goal."""
    words: list[Word] = []
    if skipped != "subject":
        words.extend(phrase_words(clause.subject, "nom"))
    early, central, late = objects(clause, skipped)
    words.extend(early)
    for name in ("time", "often"):
        words.extend(adverbs(clause, name))
    words.extend(central)
    if clause.negated and not says_kein(clause):
        words.append(("nicht", (clause.unit + node.NOT,)))
    if clause.agent:
        words.extend(prepositional("von", clause.agent, "dat", clause.unit + node.AGENT))
    words.extend(adverbs(clause, "manner"))
    words.extend(adverbs(clause, "place"))
    words.extend(late)
    if clause.goal:
        preposition, where = clause.goal
        words.extend(prepositional(preposition.german, where, preposition.case, where.unit + node.CASE))
    if clause.predicate:
        word = clause.predicate.german[clause.subject_kind]
        words.append((word, (clause.unit + node.PREDICATE,)))
    return words


def adverbs(clause: Clause, name: str) -> list[Word]:
    """The adverbials of one slot that were not fronted."""
    return [
        word
        for adverbial in clause.adverbials
        if adverbial.slot == name and not adverbial.fronted
        for word in adverbial_words(adverbial)
    ]


def objects(clause: Clause, skipped: str) -> tuple[list[Word], list[Word], list[Word]]:
    """Objects before the adverbs of time, before `nicht`, and after the adverbs of place."""
    recipient = clause.recipient
    dative = phrase_words(recipient, "dat") if recipient else []
    what = clause.object if skipped != "object" else None
    if what is None or clause.sense is None:
        return dative, [], []
    if says_kein(clause) and isinstance(what, Common):
        return dative, [], common_words(what, clause.sense.case, (clause.unit + node.NOT,))
    words = object_words(clause)
    if clause.sense.preposition or not node.is_definite(what):
        return dative, [], words
    if isinstance(what, Pronoun):
        return [*words, *dative], [], []
    if recipient and not node.is_definite(recipient):
        return [], [*words, *dative], []
    return dative, words, []


def adverbial_words(adverbial: Adverbial) -> list[Word]:
    """An adverb or a prepositional phrase."""
    unit = adverbial.unit
    case = unit + node.CASE
    if adverbial.adverb:
        return [(adverbial.adverb.german, (unit,))]
    if adverbial.weekday:
        return [("am", (case,)), (WEEKDAYS[adverbial.weekday], (unit,))]
    if adverbial.slot == "time" and adverbial.number:
        return [("im", (case,)), ("Jahr", ()), (adverbial.number, (unit,))]
    if adverbial.number:
        return [("in", (case,)), ("Zimmer", (unit,)), (adverbial.number, (unit + node.NUMBER,))]
    if adverbial.phrase is None or adverbial.preposition is None:
        raise ValueError("an adverbial needs an adverb, a number, a weekday or a preposition with a phrase")
    return prepositional(adverbial.preposition.german, adverbial.phrase, adverbial.preposition.case, case)


def later_clauses(clause: Clause) -> list[Word]:
    """Complement, subordinate and coordinate clauses."""
    words: list[Word] = []
    if clause.complement:
        words.extend([COMMA, *final_clause(clause.complement)])
    if clause.subordinate and not clause.subordinate_first:
        words.extend([COMMA, *final_clause(clause.subordinate)])
    if clause.coordinate:
        conjunction, second = clause.coordinate
        comma: Word = (",", (clause.unit + node.COMMA,))
        word: Word = ("aber" if conjunction == "but" else "und", (second.unit + node.MARKER,))
        words.extend([comma, word, *main_clause(second)])
    return words
