"""Short stories: sentences that share a small cast."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from headscope.tasks.grammar import derivation_tables
from headscope.tasks.grammar.clause_derivation import ClauseDeriver
from headscope.tasks.grammar.combinations import Combination, arguments_of, clauses_of, combinations
from headscope.tasks.grammar.languages.english import Writer
from headscope.tasks.grammar.lexicon.function_words import THE
from headscope.tasks.grammar.phrases import Clause, Common, Name, Phrase, Pronoun
from headscope.tasks.grammar.sampler import Sampler
from headscope.tasks.grammar.sentence import Sentence, realise
from headscope.tasks.grammar.splits import admitted, source

Entity = Common | Name
NEW_ENTITY = 0.5
PRONOUN = 0.6


@dataclass(frozen=True, slots=True)
class Story:
    """Two to five sentences; `antecedents` are (pronoun, noun) positions in the words of all sentences together."""

    sentences: tuple[Sentence, ...]
    antecedents: tuple[tuple[int, int], ...]
    log_probability: float

    @property
    def english(self) -> str:
        """The English text."""
        return " ".join(sentence.english for sentence in self.sentences)

    @property
    def german_text(self) -> str:
        """The German text."""
        return " ".join(sentence.german_text for sentence in self.sentences)


class StoryDeriver(ClauseDeriver):
    """Draws sentences whose arguments come back: new with a fixed weight, else one of the old, all equally likely."""

    def __init__(self, sampler: Sampler) -> None:
        """Start with an empty cast."""
        super().__init__(sampler)
        self.cast: list[Entity] = []
        self.here: list[Entity] = []
        self.recent: list[Entity] = []
        self.tenses = sampler.pick(derivation_tables.STORY_TENSES)

    def next_sentence(self) -> Clause:
        """One more sentence."""
        self.recent, self.here = self.here, []
        self.alone = True
        return self.sentence()

    def argument(self, kinds: tuple[str, ...], scoped: bool = True) -> Phrase:
        """An old member of the cast, by pronoun, name or definite noun, or a new one."""
        first, self.alone = self.alone, False
        old = [entity for entity in self.cast if entity.kind in kinds and entity not in self.here]
        if old and not self.sampler.chance(NEW_ENTITY / (NEW_ENTITY + len(old))):
            phrase = self.again(old[self.sampler.below(len(old))], first)
        else:
            phrase = self.new(kinds, scoped)
        self.alone = first
        return phrase

    def new(self, kinds: tuple[str, ...], scoped: bool) -> Phrase:
        """Someone or something not mentioned before; never with `the`."""
        self.determiners = derivation_tables.NEW_DETERMINERS
        phrase = super().argument(kinds, scoped)
        self.determiners = derivation_tables.DETERMINERS
        if isinstance(phrase, Name) or (isinstance(phrase, Common) and phrase.pronoun):
            self.cast.append(phrase)
            self.here.append(phrase)
        return phrase

    def again(self, entity: Entity, first: bool) -> Phrase:
        """Another mention; a pronoun only in a first clause and if the last sentence leaves no doubt what it means."""
        self.here.append(entity)
        rivals = [other.pronoun for other in self.recent]
        clear = first and entity in self.recent and rivals.count(entity.pronoun) == 1
        if clear and entity.pronoun and self.sampler.chance(PRONOUN):
            return Pronoun(self.unit(), entity.pronoun, entity)
        if isinstance(entity, Name):
            return Name(self.unit(), entity.name, entity.pronoun, entity.kind)
        cue = entity.adjectives if entity.noun.ambiguous else ()
        return Common(self.unit(), entity.noun, entity.plural, THE, cue, first=entity.first)


def stories(seed: int, split: str = "train") -> Iterator[Story]:
    """An endless stream of stories; the same seed and split give the same stream.

    Every sentence of a training story is free of held-out combinations; a test story has at least one.
    """
    stream = source(seed, split, "stories")
    while True:
        sampler = Sampler(stream)
        deriver = StoryDeriver(sampler)
        story: list[tuple[Clause, float]] = []
        found: list[Combination] = []
        for _ in range(sampler.pick(derivation_tables.STORY_LENGTHS)):
            before = sampler.log_probability if story else 0.0
            clause = deriver.next_sentence()
            story.append((clause, sampler.log_probability - before))
            found.extend(combinations(clause))
        if admitted(found, split):
            told = tuple(realise(clause, log_probability) for clause, log_probability in story)
            yield Story(told, story_antecedents([clause for clause, _ in story]), sampler.log_probability)


def story_antecedents(story: list[Clause]) -> tuple[tuple[int, int], ...]:
    """(pronoun, noun) positions over the whole story."""
    units = [token.unit for clause in story for token in Writer().sentence(clause)]
    place = {unit: index for index, unit in enumerate(units)}
    return tuple(
        sorted(
            (place[phrase.unit], place[phrase.antecedent.unit])
            for clause in story
            for part in clauses_of(clause)
            for phrase in arguments_of(part)
            if isinstance(phrase, Pronoun) and phrase.antecedent
        )
    )
