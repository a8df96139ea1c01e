"""A derivation in English, with its dependency tree."""

from __future__ import annotations

from dataclasses import dataclass

from headscope.tasks.grammar import phrases as node
from headscope.tasks.grammar.languages.english_forms import article_before
from headscope.tasks.grammar.lexicon.function_words import english_number
from headscope.tasks.grammar.lexicon.lexemes import Preposition
from headscope.tasks.grammar.phrases import Adverbial, Asked, Clause, Common, Name, Pair, Phrase, Pronoun, Relative

OBJECTIVE = {"I": "me", "you": "you", "he": "him", "she": "her", "it": "it", "we": "us", "they": "them"}


@dataclass(slots=True, eq=False)
class Token:
    """An English word in its tree; `head` is None at the root and until it is attached."""

    form: str
    upos: str
    unit: int
    relation: str = "root"
    head: Token | None = None


def attach(token: Token, head: Token, relation: str) -> Token:
    """The token, hung below its head."""
    token.head = head
    token.relation = relation
    return token


class Writer:
    """Collects the words of one sentence in order."""

    __slots__ = ("out",)

    def __init__(self) -> None:
        """Start an empty sentence."""
        self.out: list[Token] = []

    def word(self, form: str, upos: str, unit: int) -> Token:
        """Append a word."""
        token = Token(form, upos, unit)
        self.out.append(token)
        return token

    def sentence(self, clause: Clause) -> list[Token]:
        """The whole sentence with its final punctuation."""
        root = self.clause(clause)
        mark = "?" if clause.mood != "statement" else "."
        attach(self.word(mark, "PUNCT", clause.unit + node.PUNCT), root, "punct")
        return self.out

    # Noun phrases

    def phrase(self, phrase: Phrase, objective: bool = False) -> Token:
        """A noun phrase; returns its head word."""
        if isinstance(phrase, Common):
            return self.common(phrase)
        if isinstance(phrase, Name):
            return self.word(phrase.name, "PROPN", phrase.unit)
        if isinstance(phrase, Pronoun):
            return self.word(OBJECTIVE[phrase.form] if objective else phrase.form, "PRON", phrase.unit)
        if isinstance(phrase, Relative):
            who = phrase.head.kind == "person" and not objective
            return self.word("who" if who else "that", "PRON", phrase.unit)
        if isinstance(phrase, Asked):
            return self.word("whom" if objective and phrase.form == "who" else phrase.form, "PRON", phrase.unit)
        return self.pair(phrase)

    def pair(self, pair: Pair) -> Token:
        """Two coordinated phrases; the first is the head."""
        one = self.phrase(pair.one)
        conjunction = self.word("and", "CCONJ", pair.unit + node.CONJUNCTION)
        two = attach(self.phrase(pair.two), one, "conj")
        attach(conjunction, two, "cc")
        return one

    def common(self, phrase: Common) -> Token:
        """Determiner, number, adjectives, compound, noun, then what follows the noun."""
        before: list[tuple[Token, str]] = []
        determiner = phrase.determiner
        form = determiner.plural if phrase.plural else determiner.singular
        if form:
            upos = "PRON" if determiner.relation == "nmod:poss" else "ADJ" if determiner.relation == "amod" else "DET"
            before.append((self.word(form, upos, phrase.unit + node.DET), determiner.relation))
        article = self.out[-1] if form == "a" else None
        self.number(phrase, before)
        for index, adjective in enumerate(phrase.adjectives):
            before.append((self.word(adjective.english, "ADJ", phrase.unit + node.ADJECTIVE + index), "amod"))
        if phrase.first:
            before.append((self.word(phrase.first[0], "NOUN", phrase.unit + node.FIRST), "compound"))
        form = phrase.noun.english_plural if phrase.plural else phrase.noun.english
        noun = self.word(form, "NOUN", phrase.unit)
        for token, relation in before:
            attach(token, noun, relation)
        if article:
            article.form = article_before(self.out[self.out.index(article) + 1].form)
        if phrase.modifier:
            self.prepositional(*phrase.modifier, noun, "nmod")
        if phrase.relative:
            attach(self.clause(phrase.relative), noun, "acl:relcl")
        return noun

    def number(self, phrase: Common, before: list[tuple[Token, str]]) -> None:
        """A number in words: the tens hang below the ones."""
        if not phrase.number:
            return
        words = english_number(phrase.number)
        tokens = [self.word(word, "NUM", phrase.unit + node.NUMBER + index) for index, word in enumerate(words)]
        if len(tokens) == 2:
            attach(tokens[0], tokens[1], "compound")
        before.append((tokens[-1], "nummod"))

    def prepositional(self, preposition: Preposition, phrase: Phrase, head: Token, relation: str) -> Token:
        """A prepositional phrase below a head; its preposition has the case unit of the phrase."""
        case = self.preposition(preposition.english, phrase.unit + node.CASE)
        noun = attach(self.phrase(phrase, objective=True), head, relation)
        attach(case, noun, "case")
        return noun

    def preposition(self, words: tuple[str, ...], unit: int) -> Token:
        """One or more words; the later ones are `fixed` to the first."""
        first = self.word(words[0], "ADP", unit)
        for word in words[1:]:
            attach(self.word(word, "NOUN" if word == "front" else "ADP", unit), first, "fixed")
        return first

    # Clauses

    def clause(self, clause: Clause) -> Token:
        """A clause with everything that depends on it; returns its head word."""
        pending: list[tuple[Token, str]] = []
        if clause.subordinate and clause.subordinate_first:
            pending.append((self.clause(clause.subordinate), "advcl"))
            pending.append((self.word(",", "PUNCT", clause.unit + node.COMMA), "punct"))
        if clause.marker:
            pending.append((self.word(clause.marker, "SCONJ", clause.unit + node.MARKER), "mark"))
        fronted = self.front(clause, pending)
        main = self.predicate(clause, pending)
        self.objects(clause, main, fronted)
        self.after_objects(clause, main)
        for token, relation in pending:
            attach(token, main, relation)
        self.later_clauses(clause, main)
        return main

    def front(self, clause: Clause, pending: list[tuple[Token, str]]) -> Token | None:
        """What stands before the subject; returns the head word of a fronted object."""
        for adverbial in clause.adverbials:
            if adverbial.fronted:
                pending.append((self.adverbial(adverbial), "advmod" if adverbial.adverb else "obl"))
        if clause.asked_adverb:
            pending.append((self.word(clause.asked_adverb, "ADV", clause.unit + node.ASKED), "advmod"))
        if not (clause.object_fronted and clause.object):
            return None
        head = self.phrase(clause.object, objective=True)
        pending.append((head, object_relation(clause)))
        if clause.mood == "statement" and not isinstance(clause.object, Relative):
            pending.append((self.word(",", "PUNCT", clause.unit + node.COMMA), "punct"))
        return head

    def predicate(self, clause: Clause, pending: list[tuple[Token, str]]) -> Token:
        """Subject and verb, with auxiliaries, negation and adverbs of frequency between them."""
        inverted = inverts(clause)
        chain = verb_chain(clause, inverted)
        relation = "nsubj:pass" if clause.passive else "nsubj"
        auxiliary = chain[0][2] != "main"
        if inverted:
            pending.append(self.link(chain[0]))
        pending.append((self.phrase(clause.subject), relation))
        if auxiliary and not inverted:
            pending.append(self.link(chain[0]))
        if clause.negated:
            pending.append((self.word("not", "PART", clause.unit + node.NOT), "advmod"))
        for adverbial in clause.adverbials:
            if adverbial.slot == "often":
                pending.append((self.adverbial(adverbial), "advmod"))
        rest = chain[1:] if auxiliary else chain
        pending.extend(self.link(link) for link in rest if link[2] != "main")
        if clause.predicate:
            return self.word(clause.predicate.english, "ADJ", clause.unit + node.PREDICATE)
        form, _, _, unit = chain[-1]
        return self.word(form, "VERB", unit)

    def link(self, link: tuple[str, str, str, int]) -> tuple[Token, str]:
        """An auxiliary with its relation."""
        form, upos, relation, unit = link
        return self.word(form, upos, unit), relation

    def after_objects(self, clause: Clause, main: Token) -> None:
        """Goal, agent, then adverbs of manner, place and time."""
        if clause.goal:
            self.prepositional(*clause.goal, main, "obl")
        if clause.agent:
            case = self.word("by", "ADP", clause.unit + node.AGENT)
            noun = attach(self.phrase(clause.agent, objective=True), main, "obl:agent")
            attach(case, noun, "case")
        for slot in ("manner", "place", "time"):
            for adverbial in clause.adverbials:
                if adverbial.slot == slot and not adverbial.fronted:
                    attach(self.adverbial(adverbial), main, "advmod" if adverbial.adverb else "obl")

    def objects(self, clause: Clause, main: Token, fronted: Token | None) -> None:
        """The particle of the verb and its objects."""
        verb = clause.sense.verb if clause.sense else None
        particle = verb.particle if verb else ""
        late = particle and isinstance(clause.object, Pronoun) and not clause.object_fronted
        if particle and not late:
            attach(self.word(particle, "ADP", clause.unit + node.PARTICLE), main, "compound:prt")
        if clause.recipient and not clause.recipient_last:
            attach(self.phrase(clause.recipient, objective=True), main, "iobj")
        case = self.word(verb.preposition, "ADP", clause.unit + node.PREPOSITION) if verb and verb.preposition else None
        noun = fronted
        if clause.object and not clause.object_fronted:
            noun = attach(self.phrase(clause.object, objective=True), main, object_relation(clause))
        if case and noun:
            attach(case, noun, "case")
        if late:
            attach(self.word(particle, "ADP", clause.unit + node.PARTICLE), main, "compound:prt")
        if clause.recipient and clause.recipient_last:
            case = self.word("to", "ADP", clause.recipient.unit + node.CASE)
            noun = attach(self.phrase(clause.recipient, objective=True), main, "obl")
            attach(case, noun, "case")

    def later_clauses(self, clause: Clause, main: Token) -> None:
        """Complement, subordinate and coordinate clauses."""
        if clause.complement:
            attach(self.clause(clause.complement), main, "ccomp")
        if clause.subordinate and not clause.subordinate_first:
            attach(self.clause(clause.subordinate), main, "advcl")
        if clause.coordinate:
            word, second = clause.coordinate
            comma = self.word(",", "PUNCT", clause.unit + node.COMMA)
            conjunction = self.word(word, "CCONJ", second.unit + node.MARKER)
            head = attach(self.clause(second), main, "conj")
            attach(comma, head, "punct")
            attach(conjunction, head, "cc")

    def adverbial(self, adverbial: Adverbial) -> Token:
        """An adverb or prepositional phrase; returns its head word."""
        if adverbial.adverb:
            return self.word(adverbial.adverb.english, "ADV", adverbial.unit)
        if adverbial.weekday:
            case = self.word("on", "ADP", adverbial.unit + node.CASE)
            head = self.word(adverbial.weekday, "PROPN", adverbial.unit)
        elif adverbial.slot == "time" and adverbial.number:
            case = self.word("in", "ADP", adverbial.unit + node.CASE)
            head = self.word(adverbial.number, "NUM", adverbial.unit)
        elif adverbial.number:
            case = self.word("in", "ADP", adverbial.unit + node.CASE)
            head = self.word("room", "NOUN", adverbial.unit)
            attach(self.word(adverbial.number, "NUM", adverbial.unit + node.NUMBER), head, "nummod")
        else:
            phrase, preposition = adverbial.phrase, adverbial.preposition
            if phrase is None or preposition is None:
                raise ValueError("an adverbial needs an adverb, a number, a weekday or a preposition with a phrase")
            case = self.preposition(preposition.english, adverbial.unit + node.CASE)
            head = self.phrase(phrase, objective=True)
        attach(case, head, "case")
        return head


def object_relation(clause: Clause) -> str:
    """`obj`, or `obl` after a preposition."""
    return "obl" if clause.sense and clause.sense.verb.preposition else "obj"


def inverts(clause: Clause) -> bool:
    """Whether the auxiliary stands before the subject."""
    if clause.mood == "statement":
        return False
    return not (isinstance(clause.subject, Asked) or asks_which(clause.subject))


def asks_which(phrase: Phrase) -> bool:
    """Whether the phrase is `which ...`."""
    return isinstance(phrase, Common) and phrase.determiner.singular == "which"


def finite_be(phrase: Phrase, tense: str) -> str:
    """The finite form of `be`."""
    if isinstance(phrase, Pronoun) and phrase.form == "I":
        return "am" if tense == "present" else "was"
    many = node.is_plural(phrase) or (isinstance(phrase, Pronoun) and phrase.form == "you")
    if tense == "present":
        return "are" if many else "is"
    return "were" if many else "was"


def takes_s(phrase: Phrase) -> bool:
    """Whether the present of the verb ends in -s."""
    if isinstance(phrase, Pronoun):
        return phrase.form in ("he", "she", "it")
    return not node.is_plural(phrase)


def verb_chain(clause: Clause, inverted: bool) -> list[tuple[str, str, str, int]]:
    """The verbs of the clause as (form, tag, relation, unit); the last is the main verb or the copula."""
    subject, tense = clause.subject, clause.tense
    unit = clause.unit
    chain: list[tuple[str, str, str, int]] = []
    needs = "finite"
    if tense == "perfect":
        chain.append(("has" if takes_s(subject) else "have", "AUX", "aux", unit + node.AUX))
        needs = "participle"
    elif tense in ("future", "modal"):
        chain.append(("will" if tense == "future" else clause.modal, "AUX", "aux", unit + node.AUX))
        needs = "base"
    if clause.passive or not clause.sense:
        form = {"participle": "been", "base": "be"}.get(needs) or finite_be(subject, tense)
        at = unit + node.VERB if not clause.sense else unit + node.AUX + len(chain)
        chain.append((form, "AUX", "cop" if not clause.sense else "aux:pass", at))
        needs = "participle"
    if not clause.sense:
        return chain
    verb = clause.sense.verb
    if needs == "finite" and (inverted or clause.negated):
        do = "did" if tense == "past" else "does" if takes_s(subject) else "do"
        chain.append((do, "AUX", "aux", unit + node.AUX))
        needs = "base"
    if needs == "finite":
        form = verb.past if tense == "past" else verb.third if takes_s(subject) else verb.lemma
    else:
        form = verb.participle if needs == "participle" else verb.lemma
    chain.append((form, "VERB", "main", unit + node.VERB))
    return chain
