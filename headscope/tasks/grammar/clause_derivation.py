"""Random sentences: clauses put together from phrases."""

from __future__ import annotations

from headscope.tasks.grammar import derivation_tables
from headscope.tasks.grammar.lexicon import function_words as words
from headscope.tasks.grammar.lexicon.lexemes import Preposition, Sense
from headscope.tasks.grammar.phrase_derivation import PhraseDeriver
from headscope.tasks.grammar.phrases import (
    Adverbial,
    Asked,
    Clause,
    Common,
    Name,
    Pair,
    Phrase,
    Pronoun,
    Relative,
    is_definite,
)

TRANSITIVE = ("object-sense", "subject-sense", "transitive")
ALL_FRAMES = (*TRANSITIVE, "intransitive")


class ClauseDeriver(PhraseDeriver):
    """Draws clauses and sentences."""

    # Sentences

    def sentence(self) -> Clause:
        """A whole sentence."""
        structure = self.sampler.pick(derivation_tables.STRUCTURES)
        if structure == "question":
            return self.question()
        tense = self.sampler.pick(self.tenses)
        if structure == "complement":
            return self.complement(tense)
        if structure == "simple":
            return self.clause(tense, fronting=True)
        if structure == "coordinate":
            return self.coordinate(tense)
        return self.subordinate(tense)

    def complement(self, tense: str) -> Clause:
        """`The teacher believes that ...`."""
        sampler = self.sampler
        verb = sampler.pick(derivation_tables.VERB_TABLES["clausal"])
        clause = Clause(self.unit(), self.argument(("person",), scoped=False), verb.senses[0])
        self.colour(clause, tense, "plain")
        clause.complement = self.second(clause, tense, marker="that")
        return clause

    def coordinate(self, tense: str) -> Clause:
        """Two main clauses."""
        clause = self.clause(tense, fronting=True)
        conjunction = self.sampler.pick(derivation_tables.CONJUNCTIONS)
        clause.coordinate = (conjunction, self.second(clause, tense))
        return clause

    def subordinate(self, tense: str) -> Clause:
        """A main clause with a subordinate clause before or after it."""
        marker = self.sampler.pick(derivation_tables.MARKERS)
        if self.sampler.chance(0.45):
            first = self.clause(self.sampler.pick(derivation_tables.LATER_TENSES[tense]), marker=marker)
            main = self.second(first, tense, exact=True)
            main.subordinate, main.subordinate_first = first, True
            return main
        main = self.clause(tense, fronting=True)
        main.subordinate = self.second(main, tense, marker=marker)
        return main

    def second(self, first: Clause, tense: str, marker: str = "", exact: bool = False) -> Clause:
        """A clause after another one, perhaps with a pronoun for something in it."""
        tense = tense if exact else self.sampler.pick(derivation_tables.LATER_TENSES[tense])
        self.alone = False
        antecedents = referents(first)
        if antecedents and self.sampler.chance(0.6):
            antecedent = antecedents[self.sampler.below(len(antecedents))]
            return self.linked(antecedent, tense, marker)
        return self.clause(tense, marker=marker)

    # Clauses

    def clause(self, tense: str, marker: str = "", fronting: bool = False) -> Clause:
        """A statement of any frame."""
        frame = self.sampler.pick(derivation_tables.FRAMES)
        polarity = self.sampler.pick(derivation_tables.POLARITIES)
        modal = self.modal(tense)
        scoped = polarity == "plain" and modal != "must"
        clause = self.framed(frame, scoped)
        clause.modal, clause.marker = modal, marker
        open_end = self.relatives(clause, tense)
        self.colour(clause, tense, polarity, fronting, open_end)
        return clause

    def modal(self, tense: str) -> str:
        """The modal verb, if the tense asks for one."""
        return self.sampler.pick(derivation_tables.MODALS) if tense == "modal" else ""

    def framed(self, frame: str, scoped: bool) -> Clause:
        """Verb and arguments."""
        sampler = self.sampler
        unit = self.unit()
        if frame == "transitive":
            verb = sampler.pick(derivation_tables.VERB_TABLES[sampler.pick(derivation_tables.TRANSITIVE_GROUPS)])
            sense = sampler.pick(derivation_tables.SENSES[verb])
            return self.with_object(Clause(unit, self.argument(sense.subjects, scoped), sense), scoped)
        if frame == "copular":
            return self.copular(Clause(unit, self.argument(derivation_tables.COPULAR_KINDS, scoped), None))
        if frame == "passive":
            sense = sampler.pick(derivation_tables.required(derivation_tables.passive_senses("")))
            return self.passive(Clause(unit, self.argument(sense.objects, scoped), sense))
        if frame == "cued-subject":
            noun = sampler.pick(derivation_tables.CUED_SUBJECTS)
            sense = sampler.pick(derivation_tables.SUBJECT_CUES[noun])
            subject = self.bare(noun, scoped)
            self.modify(subject)
            return Clause(unit, subject, sense)
        if frame == "cued-object":
            noun = sampler.pick(derivation_tables.CUED_OBJECTS)
            sense = sampler.pick(derivation_tables.OBJECT_CUES[noun])
            clause = Clause(unit, self.argument(sense.subjects, scoped), sense)
            clause.object = self.bare(noun, scoped)
            return clause
        verb = sampler.pick(derivation_tables.VERB_TABLES[frame])
        sense = sampler.pick(derivation_tables.SENSES[verb])
        return self.completed(Clause(unit, self.argument(sense.subjects, scoped), sense), frame, scoped)

    def completed(self, clause: Clause, frame: str, scoped: bool) -> Clause:
        """Recipient or goal, as the frame asks."""
        sampler = self.sampler
        if frame == "ditransitive" and clause.sense:
            clause.recipient = self.argument(("person",), scoped=False)
            clause.recipient_last = clause.sense.verb.frame == "to-only" or sampler.chance(0.4)
            return self.with_object(clause, scoped)
        if frame == "put":
            self.with_object(clause, scoped)
            preposition, kinds = sampler.pick(derivation_tables.TARGETS)
            clause.goal = (preposition, self.simple(sampler.pick(derivation_tables.nouns(kinds)), scoped=False))
        if frame == "motion":
            clause.goal = self.destination()
        return clause

    def destination(self) -> tuple[Preposition, Phrase]:
        """Where someone goes."""
        if self.sampler.chance(0.5):
            return words.TO_PLACE, self.place()
        noun = self.sampler.pick(derivation_tables.nouns(("building", "place", "water", "event")))
        return words.TO_GOAL, self.simple(noun, scoped=False)

    def with_object(self, clause: Clause, scoped: bool) -> Clause:
        """Give the clause an object of the kinds its verb asks for."""
        if clause.sense:
            clause.object = self.argument(clause.sense.objects, scoped)
        return clause

    def copular(self, clause: Clause) -> Clause:
        """Give the clause a predicate adjective that goes with its subject."""
        clause.predicate = self.sampler.pick(derivation_tables.adjectives(clause.subject_kind))
        return clause

    def passive(self, clause: Clause) -> Clause:
        """Make the clause passive, perhaps with an agent."""
        clause.passive = True
        if clause.sense and (self.needs_agent(clause.sense) or self.sampler.chance(0.5)):
            clause.agent = self.agent(clause.sense)
        return clause

    def agent(self, sense: Sense) -> Phrase:
        """Who does it, after `by`."""
        if "person" in sense.subjects and self.sampler.chance(0.25):
            return self.person()
        return self.simple(self.sampler.pick(derivation_tables.nouns(sense.subjects)), scoped=False)

    def needs_agent(self, sense: Sense) -> bool:
        """Whether the German verb depends on the agent."""
        return any(other.objects == sense.objects and other is not sense for other in sense.verb.senses)

    # Pronouns

    def linked(self, antecedent: Common | Name, tense: str, marker: str) -> Clause:
        """A clause with a pronoun for the antecedent."""
        sampler = self.sampler
        pronoun = Pronoun(self.unit(), antecedent.pronoun, antecedent)
        polarity = sampler.pick(derivation_tables.POLARITIES)
        modal = self.modal(tense)
        scoped = polarity == "plain" and modal != "must"
        role = sampler.pick(derivation_tables.roles(antecedent.kind))
        clause = self.about(pronoun, role, scoped)
        clause.modal, clause.marker = modal, marker
        self.colour(clause, tense, polarity)
        return clause

    def about(self, pronoun: Pronoun, role: str, scoped: bool) -> Clause:
        """A clause in which the pronoun has the given role."""
        sampler, unit, kind = self.sampler, self.unit(), pronoun.kind
        if role == "copular":
            return self.copular(Clause(unit, pronoun, None))
        if role == "passive":
            return self.passive(
                Clause(unit, pronoun, sampler.pick(derivation_tables.required(derivation_tables.passive_senses(kind))))
            )
        if role == "object":
            sense = sampler.pick(derivation_tables.required(derivation_tables.pronoun_senses(kind)))
            return Clause(unit, self.argument(sense.subjects, scoped), sense, pronoun)
        sense = sampler.pick(derivation_tables.required(derivation_tables.senses(ALL_FRAMES, kind, "")))
        clause = Clause(unit, pronoun, sense)
        return self.with_object(clause, scoped) if sense.objects else clause

    # Relative clauses

    def relatives(self, clause: Clause, tense: str) -> bool:
        """Perhaps hang a relative clause on the subject or object; returns whether the object got one."""
        scale = 0.0 if not self.alone else 0.4 if clause.marker else 1.0
        if isinstance(clause.subject, Common) and self.relative(clause.subject, tense, 0.12 * scale):
            return False
        what = clause.object
        ends = not clause.recipient and not clause.goal
        return isinstance(what, Common) and ends and self.relative(what, tense, 0.1 * scale)

    def relative(self, head: Common, tense: str, chance: float) -> bool:
        """Perhaps add a relative clause to a phrase without modifier."""
        sampler = self.sampler
        if head.modifier or head.noun.ambiguous or not sampler.chance(chance):
            return False
        alone, self.alone = self.alone, False
        role = sampler.pick(derivation_tables.gaps(head.kind))
        gap = Relative(self.unit(), head)
        unit = self.unit()
        tense = sampler.pick(derivation_tables.LATER_TENSES[tense])
        if role == "subject":
            sense = sampler.pick(derivation_tables.required(derivation_tables.senses(ALL_FRAMES, head.kind, "")))
            clause = Clause(unit, gap, sense)
            if sense.objects:
                self.with_object(clause, False)
        else:
            sense = sampler.pick(derivation_tables.required(derivation_tables.senses(TRANSITIVE, "", head.kind)))
            clause = Clause(unit, self.argument(sense.subjects, False), sense, gap, object_fronted=True)
        clause.tense, clause.modal = tense, self.modal(tense)
        if sampler.chance(0.2):
            clause.adverbials = (self.place_adverbial(),)
        self.alone = alone
        head.relative = clause
        return True

    # Adverbials, negation, fronting

    def colour(self, clause: Clause, tense: str, polarity: str, fronting: bool = False, open_end: bool = False) -> None:
        """Tense, negation and adverbials; after an object with a relative clause adverbials can only be fronted."""
        sampler = self.sampler
        clause.tense = tense
        clause.modal = clause.modal or self.modal(tense)
        clause.negated = polarity == "negated"
        found: list[Adverbial] = []
        if polarity == "often":
            found.append(Adverbial(self.unit(), "often", adverb=sampler.pick(derivation_tables.OFTEN)))
        elif not open_end or fronting:
            self.add_time(clause, found, fronting, open_end)
        if not open_end:
            self.add_manner_and_place(clause, found, fronting and not any(item.fronted for item in found))
        clause.adverbials = tuple(found)
        what = clause.object
        free = fronting and not any(item.fronted for item in found) and polarity != "often"
        if free and isinstance(what, Common) and is_definite(what) and can_be_fronted(clause):
            clause.object_fronted = sampler.chance(0.14)

    def add_time(self, clause: Clause, found: list[Adverbial], fronting: bool, open_end: bool) -> None:
        """Perhaps when."""
        if clause.asked_adverb != "when" and self.sampler.chance(0.3):
            adverbial = self.time_adverbial(clause.tense)
            adverbial.fronted = fronting and (open_end or self.sampler.chance(0.5))
            found.append(adverbial)

    def add_manner_and_place(self, clause: Clause, found: list[Adverbial], fronting: bool) -> None:
        """Perhaps how and where."""
        sampler = self.sampler
        if (
            clause.sense is None
            or clause.sense.verb.lemma in derivation_tables.STATIVE
            or clause.sense.verb.frame == "clausal"
        ):
            return
        lively = clause.subject_kind in derivation_tables.BEINGS and not clause.passive
        if lively and sampler.chance(0.14):
            found.append(Adverbial(self.unit(), "manner", adverb=sampler.pick(derivation_tables.MANNERS)))
        if clause.goal is None and clause.asked_adverb != "where" and sampler.chance(0.2):
            adverbial = self.place_adverbial()
            adverbial.fronted = fronting and sampler.chance(0.4)
            found.append(adverbial)

    # Questions

    def question(self) -> Clause:
        """A question of any sort."""
        sampler = self.sampler
        sort = sampler.pick(derivation_tables.QUESTIONS)
        tense = sampler.pick(self.tenses)
        polarity = sampler.pick(derivation_tables.QUESTION_POLARITIES)
        modal = self.modal(tense)
        scoped = polarity == "plain" and modal != "must"
        clause = self.asked(sort, scoped)
        clause.modal, clause.mood = modal, "yes-no" if sort == "yes-no" else "wh"
        self.colour(clause, tense, polarity)
        return clause

    def asked(self, sort: str, scoped: bool) -> Clause:
        """The clause of a question."""
        sampler = self.sampler
        if sort in ("yes-no", "where", "when", "why"):
            clause = self.framed(sampler.pick(derivation_tables.FRAMES), scoped)
            clause.asked_adverb = "" if sort == "yes-no" else sort
            return clause
        unit = self.unit()
        if sort == "who":
            sense = sampler.pick(derivation_tables.required(derivation_tables.senses(ALL_FRAMES, "person", "")))
            clause = Clause(unit, Asked(self.unit(), "who"), sense)
            return self.with_object(clause, scoped) if sense.objects else clause
        if sort == "which":
            verb = sampler.pick(derivation_tables.VERB_TABLES[sampler.pick(derivation_tables.TRANSITIVE_GROUPS)])
            sense = sampler.pick(derivation_tables.SENSES[verb])
            what: Phrase = self.which(sense)
        else:
            sense = sampler.pick(derivation_tables.WHOM_SENSES if sort == "whom" else derivation_tables.WHAT_SENSES)
            what = Asked(self.unit(), "who" if sort == "whom" else "what")
        return Clause(unit, self.argument(sense.subjects, scoped), sense, what, object_fronted=True)

    def which(self, sense: Sense) -> Common:
        """`which book`."""
        sampler = self.sampler
        noun = sampler.pick(derivation_tables.nouns(sense.objects))
        phrase = Common(self.unit(), noun, noun.countable and sampler.chance(0.3), words.WHICH)
        if derivation_tables.DESCRIBED[noun.kind] and sampler.chance(0.2):
            self.describe(phrase)
        return phrase


def can_be_fronted(clause: Clause) -> bool:
    """Whether the object may come first: it has no preposition and there is no recipient to take it for."""
    return clause.recipient is None and clause.sense is not None and not clause.sense.verb.preposition


def referents(clause: Clause) -> list[Common | Name]:
    """The arguments of a clause that a pronoun in the next clause can only mean one way."""
    arguments = [part for part in (clause.subject, clause.object, clause.recipient, clause.agent) if part]
    forms = [pronoun_for(part) for part in arguments]
    return [
        part
        for part, form in zip(arguments, forms, strict=True)
        if form and forms.count(form) == 1 and isinstance(part, Common | Name)
    ]


def pronoun_for(phrase: Phrase) -> str:
    """The pronoun that would stand for a phrase."""
    if isinstance(phrase, Common | Name):
        return phrase.pronoun
    if isinstance(phrase, Pair):
        return "they"
    return phrase.form if isinstance(phrase, Pronoun) else ""
