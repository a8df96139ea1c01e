"""Texts with what is known about their words, before any model reads them: trees, translations, alignments."""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from headscope.models.head_model import HeadModel
from headscope.models.text import shown
from headscope.tasks.grammar import InferencePair, Sentence, Story, inference_pairs, sentences, stories
from headscope.tasks.natural import CONLLU
from headscope.tasks.readers import Source
from headscope.tasks.readers.conllu import TreeSentence, read_trees
from headscope.tasks.readers.record import BrokenRow
from headscope.tasks.task_catalog import SEED, SPECIMEN_TASKS, TASKS
from headscope.tasks.task_selection import FIDELITY

ANTECEDENT = "antecedent"
PUNCTUATION = "punct"
RENAMED = {"dobj": "obj", "nsubjpass": "nsubj:pass", "auxpass": "aux:pass"}
"""Relations of the first Universal Dependencies and of spaCy's English pipelines, as the second version calls them."""


@dataclass(frozen=True)
class Link:
    """A dependent word, its head, and their relation; words are numbered from 0 over all texts of a passage."""

    relation: str
    dependent: int
    head: int


@dataclass(frozen=True)
class Passage:
    """One text, or two that are read together, and the words of each, as far as anything is known about them.

    `alignment` are pairs of a word and the word of the `target`, the translation, that it became.
    """

    texts: tuple[str, ...]
    words: tuple[tuple[str, ...], ...]
    links: tuple[Link, ...] = ()
    target: str | None = None
    target_words: tuple[str, ...] = ()
    alignment: tuple[tuple[int, int], ...] = ()


def passages_for(
    head_model: HeadModel, n: int, split: str = "development", task: str = ""
) -> tuple[list[Passage], str]:
    """The first n passages that the grammar makes for a task, by default the one of a specimen; and what they are.

    For any other task, and for a model without one, our natural sentences, which have no splits here.
    """
    if task not in ("", FIDELITY, *TASKS):
        raise ValueError(f"no task {shown(task)!r}; known: {', '.join(sorted([FIDELITY, *TASKS]))}")
    written = _written(SPECIMEN_TASKS.get(head_model.name, "") if task in ("", FIDELITY) else task, split)
    if written is not None:
        passages = list(islice(written, n))
        return passages, f"{len(passages)} passages of {split}"
    passages = from_trees(read_trees(Source.from_path(CONLLU)).sentences[:n])
    return passages, f"{len(passages)} natural sentences"


def _written(task: str, split: str) -> Iterator[Passage] | None:
    """What the grammar makes for a task, if it makes anything."""
    if task == "translation":
        return map(of_sentence, sentences(SEED, split))
    if task == "inference":
        return map(of_pair, inference_pairs(SEED, split))
    return map(of_story, stories(SEED, split)) if task == "stories" else None


def read_passages(source: Source, n: int) -> tuple[list[Passage], tuple[BrokenRow, ...]]:
    """The first n sentences of a CoNLL-U file, or lines of any other text file, and what could not be read."""
    if source.suffix == ".conllu":
        treebank = read_trees(source)
        return from_trees(treebank.sentences[:n]), treebank.broken
    return from_texts(line for line in source.text().splitlines() if line.strip())[:n], ()


def from_texts(texts: Iterable[str]) -> list[Passage]:
    """Texts of which nothing is known; their words are what stands between blanks."""
    return [Passage((text,), (tuple(text.split()),)) for text in texts]


def from_trees(trees: Iterable[TreeSentence]) -> list[Passage]:
    """Sentences of a treebank; the comment "text_de", where there is one, is the translation."""
    return [
        Passage((one.text,), (one.words,), tuple(dependencies(one.heads, one.relations)), _stated(one, "text_de"))
        for one in trees
    ]


def parsed(texts: Iterable[str], pipeline: str) -> Iterator[Passage]:
    """Texts with the trees that a spaCy pipeline, which the user must have installed, gives them."""
    try:
        parse = importlib.import_module("spacy").load(pipeline)
    except (ImportError, OSError) as error:
        raise ValueError(f"no spaCy pipeline {shown(pipeline)!r} is installed; give a CoNLL-U file instead") from error
    for text in texts:
        yield _of_document(text, parse(text))


def of_sentence(sentence: Sentence) -> Passage:
    """A sentence of the grammar, with its tree, its pronouns, its translation and their alignment."""
    return Passage(
        (sentence.english,),
        (sentence.words,),
        tuple(_links([sentence], sentence.antecedents)),
        sentence.german_text,
        sentence.german,
        sentence.alignment,
    )


def of_story(story: Story) -> Passage:
    """All sentences of a story as one text."""
    words = tuple(word for one in story.sentences for word in one.words)
    return Passage((story.english,), (words,), tuple(_links(story.sentences, story.antecedents)), story.german_text)


def of_pair(pair: InferencePair) -> Passage:
    """Premise and hypothesis, read together."""
    both = (pair.premise, pair.hypothesis)
    return Passage(tuple(one.english for one in both), tuple(one.words for one in both), tuple(_links(both, ())))


def dependencies(heads: Sequence[int], relations: Sequence[str], first: int = 0) -> Iterator[Link]:
    """The links of one tree, without its root and its punctuation; heads count from 1, the first word is `first`."""
    for word, (head, relation) in enumerate(zip(heads, relations, strict=True)):
        if head and relation != PUNCTUATION:
            yield Link(RENAMED.get(relation, relation), first + word, first + head - 1)


def _links(trees: Sequence[Sentence], antecedents: Iterable[tuple[int, int]]) -> Iterator[Link]:
    first = 0
    for tree in trees:
        yield from dependencies(tree.heads, tree.relations, first)
        first += len(tree.words)
    for pronoun, noun in antecedents:
        yield Link(ANTECEDENT, pronoun, noun)


def _of_document(text: str, document: Any) -> Passage:
    words = [token for token in document if not token.is_space]
    place = {token.i: number for number, token in enumerate(words)}
    heads = [0 if token.head.i == token.i else place[token.head.i] + 1 for token in words]
    links = dependencies(heads, [token.dep_ for token in words])
    return Passage((text,), (tuple(token.text for token in words),), tuple(links))


def _stated(tree: TreeSentence, name: str) -> str | None:
    pairs = (comment.partition("=") for comment in tree.comments)
    return next((value.strip() for key, _, value in pairs if key.strip() == name), None)
