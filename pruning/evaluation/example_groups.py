"""Examples in groups that may break together: by label, by how rare their words are, by what their grammar shows."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, singledispatch
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from headscope.models.head_model import HeadModel
from headscope.pruning.evaluation.example_results import label_names
from headscope.tasks.classification import Classification
from headscope.tasks.grammar import sentences
from headscope.tasks.task import Outcomes, Task
from headscope.tasks.task_catalog import SEED, SIZES
from headscope.tasks.translation import TextPair, Translation
from headscope.tasks.vision import Digits

Members = NDArray[np.bool_]
Groups = Mapping[str, Mapping[str, Members]]
"""Which examples are in a group, by family and by name of the group."""

GRAMMAR_TASK = "translation"
"""The key of the task whose sentences our grammar derives, so that their constructions are known."""

N_COUNTED = 5000
"""Training sentences of the grammar in which words are counted."""

RARITIES = {"never seen": range(1), "seen 1 to 4 times": range(1, 5), "seen 5 times or more": range(5, 2**62)}
"""How often the rarest word of a text occurs in the text in which words are counted."""

CONSTRUCTIONS = {
    "agreement across an attractor": {"agreement", "attractor"},
    "word with two translations": {"ambiguous"},
    "verb at the end": {"verb-final"},
    "separable verb": {"separable"},
    "verb with particle": {"particle"},
    "pronoun for a noun": {"pronoun"},
    "relative clause": {"relative"},
    "passive": {"passive"},
    "negation": {"negation"},
    "question": {"question"},
    "fronted": {"fronted"},
    "coordination": {"coordination"},
    "compound": {"compound"},
    "number": {"number"},
}
"""What a sentence must show to be in a group; that it all is in one clause is not asked."""


@singledispatch
def groups(task: Task, head_model: HeadModel, outcomes: Outcomes) -> Groups:
    """The groups that a task knows, possibly none; an example may be in several or in none."""
    del task, head_model, outcomes
    return {}


@groups.register(Classification)
@groups.register(Digits)
def _(task: Classification | Digits, head_model: HeadModel, outcomes: Outcomes) -> Groups:
    del task
    gold = outcomes["gold"]
    numbers = sorted(set(gold.tolist()))
    names = label_names(head_model, numbers)
    return {"label": {name: np.asarray(gold == number) for name, number in zip(names, numbers, strict=True)}}


@groups.register(Translation)
def _(task: Translation, head_model: HeadModel, outcomes: Outcomes) -> Groups:
    del head_model
    examples = task.examples.first(outcomes.split)
    pairs = [examples[index] for index in outcomes.indices]
    by_grammar = task.key == GRAMMAR_TASK
    counts = _grammar_counts() if by_grammar else word_counts(one.source for one in task.examples.first("calibration"))
    where = f"rarest word, in {N_COUNTED} training sentences" if by_grammar else "rarest word, in calibration"
    found = {where: by_rarity([pair.source for pair in pairs], counts)}
    return found | {"construction": by_construction(pairs, outcomes.split)} if by_grammar else found


def by_rarity(texts: Sequence[str], counts: Mapping[str, int]) -> dict[str, Members]:
    """The texts by how often their rarest word occurs; a text without words counts as common."""
    rarest = [min((counts.get(word, 0) for word in words(text)), default=RARITIES["seen 5 times or more"].start)
              for text in texts]  # fmt: skip
    return {name: np.array([count in span for count in rarest]) for name, span in RARITIES.items()}


def by_construction(pairs: Sequence[TextPair], split: str) -> dict[str, Members]:
    """Sentences of our grammar by what their derivation shows."""
    derived = _constructions(split)
    shows = [derived[pair] for pair in pairs]
    return {name: np.array([wanted <= own for own in shows]) for name, wanted in CONSTRUCTIONS.items()}


def words(text: str) -> list[str]:
    """The words of a text without case; numbers are none."""
    return re.findall(r"[^\W\d_]+", text.lower())


def word_counts(texts: Iterable[str]) -> Counter[str]:
    """How often every word occurs."""
    return Counter(word for text in texts for word in words(text))


@cache
def _grammar_counts() -> Counter[str]:
    return word_counts(one.english for one in islice(sentences(SEED, "train"), N_COUNTED))


@cache
def _constructions(split: str) -> dict[TextPair, frozenset[str]]:
    """What the derivation of every example of the task shows: the same stream from which the task takes them."""
    found: dict[TextPair, frozenset[str]] = {}
    for sentence in sentences(SEED, split):
        found.setdefault(TextPair(sentence.english, sentence.german_text), sentence.constructions)
        if len(found) == SIZES[split]:
            break
    return found
