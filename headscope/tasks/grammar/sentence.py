"""A sentence in English and German, as everybody outside this package sees it."""

from __future__ import annotations

from dataclasses import dataclass

from headscope.tasks.grammar.combinations import arguments_of, clauses_of
from headscope.tasks.grammar.languages import german
from headscope.tasks.grammar.languages.english import Token, Writer
from headscope.tasks.grammar.languages.german import Word
from headscope.tasks.grammar.lexicon.function_words import NO
from headscope.tasks.grammar.phrases import Clause, Common, Pair, Phrase, Pronoun, is_plural


@dataclass(frozen=True, slots=True)
class Sentence:
    """An English sentence with its dependency tree, its German translation and their alignment.

    `heads` count from 1 with 0 for the root, as in CoNLL-U; `alignment` and `antecedents` count from 0. An antecedent
    pair is (pronoun, noun it stands for). `log_probability` is the natural logarithm of the probability of the
    derivation; that a split rejects some derivations is not counted in it.
    """

    words: tuple[str, ...]
    upos: tuple[str, ...]
    heads: tuple[int, ...]
    relations: tuple[str, ...]
    german: tuple[str, ...]
    alignment: tuple[tuple[int, int], ...]
    antecedents: tuple[tuple[int, int], ...]
    log_probability: float
    constructions: frozenset[str]

    @property
    def english(self) -> str:
        """The English text."""
        return detokenise(self.words)

    @property
    def german_text(self) -> str:
        """The German text."""
        return detokenise(self.german)


def detokenise(words: tuple[str, ...]) -> str:
    """Words as text: no space before punctuation, first letter upper-case."""
    text = " ".join(words).replace(" ,", ",").replace(" .", ".").replace(" ?", "?")
    return text[:1].upper() + text[1:]


def realise(clause: Clause, log_probability: float) -> Sentence:
    """The sentence of a derivation."""
    tokens = Writer().sentence(clause)
    translation = german.sentence(clause)
    position = {id(token): index for index, token in enumerate(tokens, start=1)}
    return Sentence(
        words=tuple(token.form for token in tokens),
        upos=tuple(token.upos for token in tokens),
        heads=tuple(position[id(token.head)] if token.head else 0 for token in tokens),
        relations=tuple(token.relation for token in tokens),
        german=tuple(form for form, _ in translation),
        alignment=align(tokens, translation),
        antecedents=antecedents(clause, tokens),
        log_probability=log_probability,
        constructions=constructions(clause, tokens),
    )


def align(tokens: list[Token], translation: list[Word]) -> tuple[tuple[int, int], ...]:
    """Pairs of English and German positions that carry the same unit."""
    places: dict[int, list[int]] = {}
    for index, token in enumerate(tokens):
        places.setdefault(token.unit, []).append(index)
    pairs = [
        (here, there) for there, (_, units) in enumerate(translation) for unit in units for here in places.get(unit, ())
    ]
    return tuple(sorted(pairs))


def antecedents(clause: Clause, tokens: list[Token]) -> tuple[tuple[int, int], ...]:
    """(pronoun, noun) positions for pronouns whose noun is in this sentence."""
    pronouns = [
        phrase
        for part in clauses_of(clause)
        for phrase in arguments_of(part)
        if isinstance(phrase, Pronoun) and phrase.antecedent
    ]
    if not pronouns:
        return ()
    place = {token.unit: index for index, token in enumerate(tokens)}
    found = [
        (place[one.unit], place[one.antecedent.unit])
        for one in pronouns
        if one.antecedent and one.antecedent.unit in place
    ]
    return tuple(sorted(found))


def constructions(clause: Clause, tokens: list[Token]) -> frozenset[str]:
    """What the sentence shows."""
    found: set[str] = set()
    if clause.mood != "statement":
        found.add("question")
    if clause.complement or clause.subordinate:
        found.add("verb-final")
    if clause.coordinate:
        found.add("coordination")
    for part in clauses_of(clause):
        clause_constructions(part, found)
        for phrase in arguments_of(part):
            phrase_constructions(phrase, found)
    forms = {token.relation for token in tokens}
    found.update(name for relation, name in BY_RELATION.items() if relation in forms)
    return frozenset(found)


BY_RELATION = {"compound:prt": "particle", "nummod": "number", "acl:relcl": "relative", "compound": "compound"}


def clause_constructions(clause: Clause, found: set[str]) -> None:
    """What one clause shows."""
    sense = clause.sense
    if clause.tense in ("present", "perfect"):
        found.add("agreement")
    if clause.negated:
        found.add("negation")
    if clause.passive:
        found.add("passive")
    if sense and sense.german.particle:
        found.add("separable")
    if sense and len(sense.verb.senses) > 1:
        found.add("ambiguous")
    if clause.predicate and len(set(clause.predicate.german.values())) > 1:
        found.add("ambiguous")
    if clause.mood == "statement" and (clause.object_fronted or any(item.fronted for item in clause.adverbials)):
        found.add("fronted")
    subject = clause.subject
    if isinstance(subject, Common) and (subject.modifier or subject.relative):
        inner = subject.modifier[1] if subject.modifier else None
        if inner is None or is_plural(inner) != subject.plural:
            found.add("attractor")


def phrase_constructions(phrase: Phrase, found: set[str]) -> None:
    """What one phrase shows."""
    if isinstance(phrase, Pair):
        found.add("coordination")
    if isinstance(phrase, Pronoun) and phrase.antecedent:
        found.add("pronoun")
    if isinstance(phrase, Common):
        if phrase.determiner is NO:
            found.add("negation")
        if phrase.noun.ambiguous or any(len(set(item.german.values())) > 1 for item in phrase.adjectives):
            found.add("ambiguous")
