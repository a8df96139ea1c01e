"""What a model answered, example by example, and what the example was: for every kind of task."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import singledispatch
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headscope.models.head_model import HeadModel
from headscope.tasks.classification import Classification, hits
from headscope.tasks.fidelity import Fidelity
from headscope.tasks.language_modelling import LanguageModelling
from headscope.tasks.model_kinds import kind_of
from headscope.tasks.speech import Speech
from headscope.tasks.statistics import metrics
from headscope.tasks.task import Outcomes, Task
from headscope.tasks.translation import Translation
from headscope.tasks.vision import Digits, digit_split

Scores = NDArray[np.float64]
Image = tuple[tuple[float, ...], ...]


@dataclass(frozen=True)
class Answer:
    """The score of one answer, and what was said where a model says something."""

    score: float
    said: str | None


@dataclass(frozen=True, eq=False)
class Answers:
    """The score of every answer in the unit `measure`, and what was said where a model says something.

    `right` is there where an answer is a choice, which is right or wrong.
    """

    measure: str
    higher_is_better: bool
    scores: Scores
    said: Sequence[str] | None = None
    right: NDArray[np.bool_] | None = None

    def at(self, place: int) -> Answer:
        """The answer to one example."""
        return Answer(float(self.scores[place]), None if self.said is None else self.said[place])


@dataclass(frozen=True)
class Shown:
    """An example as people see it: a text or an image, and the label or the text that is wanted."""

    text: str | None = None
    pair: str | None = None
    image: Image | None = None
    label: str | None = None
    reference: str | None = None


@singledispatch
def answers(task: Task, head_model: HeadModel, outcomes: Outcomes) -> Answers:
    """What the outcomes of a task say of every example."""
    del head_model, outcomes
    raise ValueError(f"{task.title} is of a kind whose answers cannot be told apart, {type(task).__name__}")


@singledispatch
def shown(task: Task, head_model: HeadModel, outcomes: Outcomes, places: Sequence[int]) -> list[Shown]:
    """The examples at some places of the outcomes."""
    del head_model, outcomes, places
    raise ValueError(f"{task.title} is of a kind whose examples cannot be shown, {type(task).__name__}")


@answers.register(Classification)
def _(task: Classification, head_model: HeadModel, outcomes: Outcomes) -> Answers:
    del task
    right = hits(outcomes)
    said = label_names(head_model, outcomes["predicted"].tolist())
    return Answers("right answers", True, right.astype(np.float64), said, right)


@answers.register(Digits)
def _(task: Digits, head_model: HeadModel, outcomes: Outcomes) -> Answers:
    del task
    scores, gold = outcomes["scores"], outcomes["gold"]
    predicted = scores.argmax(axis=1)
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    chances = powers[np.arange(len(gold)), gold] / powers.sum(axis=1)
    said = label_names(head_model, predicted.tolist())
    return Answers("probability of the right digit", True, chances, said, np.asarray(predicted == gold))


@answers.register(Fidelity)
def _(task: Fidelity, head_model: HeadModel, outcomes: Outcomes) -> Answers:
    right = np.asarray(outcomes["predicted"] == outcomes["reference"])
    said = _choice_names(task, head_model, outcomes.split, outcomes["predicted"].tolist())
    return Answers("KL divergence", False, outcomes["kl"], said, right)


@answers.register(LanguageModelling)
@answers.register(Speech)
def _(task: LanguageModelling | Speech, head_model: HeadModel, outcomes: Outcomes) -> Answers:
    del task, head_model
    bits = outcomes["nll"] / outcomes["n_tokens"] / np.log(2)
    return Answers("bits per token", False, bits)


@answers.register(Translation)
def _(task: Translation, head_model: HeadModel, outcomes: Outcomes) -> Answers:
    del task, head_model
    written, wanted = outcomes["hypothesis"].tolist(), outcomes["reference"].tolist()
    return Answers("chrF of the sentence", True, sentence_scores(written, wanted), written)


def sentence_scores(written: Sequence[str], wanted: Sequence[str]) -> Scores:
    """Every sentence alone by chrF, from 0 to 100; its BLEU would be 0 wherever no four words in a row are right."""
    sums = metrics.chrf_sums(written, wanted)
    return np.asarray(sums.statistic(sums.per_example))


@shown.register(Classification)
def _(task: Classification, head_model: HeadModel, outcomes: Outcomes, places: Sequence[int]) -> list[Shown]:
    examples = task.examples.first(outcomes.split)
    labels = label_names(head_model, [int(outcomes["gold"][place]) for place in places])
    own = [examples[outcomes.indices[place]] for place in places]
    return [Shown(one.text, one.pair, label=label) for one, label in zip(own, labels, strict=True)]


@shown.register(Digits)
def _(task: Digits, head_model: HeadModel, outcomes: Outcomes, places: Sequence[int]) -> list[Shown]:
    del task
    labels = label_names(head_model, [int(outcomes["gold"][place]) for place in places])
    images = _images(outcomes, places)
    return [Shown(image=image, label=label) for image, label in zip(images, labels, strict=True)]


@shown.register(Fidelity)
def _(task: Fidelity, head_model: HeadModel, outcomes: Outcomes, places: Sequence[int]) -> list[Shown]:
    chosen = [int(outcomes["reference"][place]) for place in places]
    wanted = _choice_names(task, head_model, outcomes.split, chosen)
    if task.examples is None:
        images = _images(outcomes, places)
        return [Shown(image=image, reference=name) for image, name in zip(images, wanted, strict=True)]
    texts = task.examples.first(outcomes.split)
    own = [texts[outcomes.indices[place]] for place in places]
    return [Shown(text, reference=name) for text, name in zip(own, wanted, strict=True)]


@shown.register(LanguageModelling)
def _(task: LanguageModelling, head_model: HeadModel, outcomes: Outcomes, places: Sequence[int]) -> list[Shown]:
    del head_model
    texts = task.examples.first(outcomes.split)
    return [Shown(texts[outcomes.indices[place]]) for place in places]


@shown.register(Speech)
def _(task: Speech, head_model: HeadModel, outcomes: Outcomes, places: Sequence[int]) -> list[Shown]:
    del head_model
    examples = task.examples.first(outcomes.split)
    return [Shown(examples[outcomes.indices[place]].transcript) for place in places]


@shown.register(Translation)
def _(task: Translation, head_model: HeadModel, outcomes: Outcomes, places: Sequence[int]) -> list[Shown]:
    del head_model
    examples = task.examples.first(outcomes.split)
    return [
        Shown(examples[outcomes.indices[place]].source, reference=str(outcomes["reference"][place])) for place in places
    ]


def label_names(head_model: HeadModel, numbers: Sequence[int]) -> list[str]:
    """The names of outputs of a model, or their numbers where it has no names for them."""
    names: dict[Any, str] = head_model.model.config.id2label or {}
    return [str(names.get(number, number)) for number in numbers]


def _choice_names(task: Fidelity, head_model: HeadModel, split: str, numbers: Sequence[int]) -> list[str]:
    """The names of labels, tokens where tokens are chosen, or which example is the likest."""
    landmarks = task.landmarks_of(split)
    if landmarks:
        return [f"like example {number + 1} of {landmarks}" for number in numbers]
    if kind_of(head_model.model) in ("classifier", "looker"):
        return label_names(head_model, numbers)
    return [str(head_model.tokenizer.decode([number])) for number in numbers]


def _images(outcomes: Outcomes, places: Sequence[int]) -> list[Image]:
    """Rows of pixels from -1 (paper) to 1 (ink)."""
    images, _ = digit_split(outcomes.split)
    return [tuple(map(tuple, images[outcomes.indices[place], 0].tolist())) for place in places]
