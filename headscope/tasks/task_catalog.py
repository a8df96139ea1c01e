"""Which tasks there are, and which one judges which model."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from itertools import chain, islice
from pathlib import Path
from typing import Any, TypeVar

from headscope.models.head_model import HeadModel
from headscope.models.text import shown
from headscope.tasks.classification import Classification, LabelledText, label_numbers
from headscope.tasks.fidelity import Fidelity, TranslationFidelity
from headscope.tasks.grammar import inference_pairs, sentences, stories
from headscope.tasks.language_modelling import LanguageModelling
from headscope.tasks.model_kinds import KINDS, gives_logits, kind_of
from headscope.tasks.natural.passages import TASK as PASSAGES
from headscope.tasks.natural.passages import passages
from headscope.tasks.own_data import split_by_hash
from headscope.tasks.readers import Source, read_table
from headscope.tasks.speech import NEEDED
from headscope.tasks.task import SPLITS, Splits, Task
from headscope.tasks.translation import TextPair, Translation
from headscope.tasks.vision import Digits

SIZES = {"calibration": 512, "development": 400, "test": 1000}
"""Examples of a split that the grammar makes."""

SEED = 20
ROUND = 512
"""Examples of a round of training that the grammar makes."""

FIRST_ROUND = 1_000_000
"""Added to the seeds of rounds: those of the specimens' own training are far below."""

NATURAL = Path(__file__).parent / "natural" / "natural.tsv"

SPECIMEN_TASKS = {
    "translator": "translation",
    "reader": "inference",
    "writer": "stories",
    "all-attention-writer": "stories",
    "looker": "digits",
}

E = TypeVar("E")


@cache
def task(key: str) -> Task:
    """The task of that name."""
    if key not in TASKS:
        raise KeyError(f"no task {shown(key)!r}; known: {', '.join(sorted(TASKS))}")
    return TASKS[key]()


def task_for(head_model: HeadModel) -> Task:
    """The task that judges a model: its own for a specimen, else what its architecture and labels allow.

    Where no labels fit, the model is compared with what it is now: make the task before heads are removed.
    """
    if head_model.name in SPECIMEN_TASKS:
        return task(SPECIMEN_TASKS[head_model.name])
    kind = kind_of(head_model.model)
    if kind in ("writer", "filler"):
        return task(PASSAGES)
    labelled = [key for key in BY_KIND.get(kind, ()) if key in LABELS and _labels_fit(head_model, LABELS[key])]
    return task(labelled[0]) if labelled else fidelity_for(head_model)


def fitting(head_model: HeadModel) -> dict[str, str]:
    """The tasks that a model can be judged by, each with its title, the one that judges it by default first."""
    kind = kind_of(head_model.model)
    if kind not in BY_KIND:
        return {}
    keys = [key for key in BY_KIND[kind] if key not in LABELS or _labels_fit(head_model, LABELS[key])]
    first = task_for(head_model)
    titles = {key: task(key).title for key in keys} | {"fidelity": "Fidelity: agreement with the unpruned model"}
    chosen = first.key if first.key in titles else "fidelity"
    return {chosen: titles.pop(chosen)} | titles


def example_texts(head_model: HeadModel, n: int) -> list[tuple[str, str | None]]:
    """A few short texts of the development split that such a model reads, with a second text where it reads pairs.

    They are natural sentences where the task has none so short that their attention could be drawn.
    """
    if kind_of(head_model.model) == "looker":
        return []
    own = next((key for key in fitting(head_model) if key in TASKS), PASSAGES)
    examples: Any = _natural_texts() if own == PASSAGES else getattr(task(own), "examples", None)
    return [_text_of(example) for example in examples.first("development", n)]


def _text_of(example: str | TextPair | LabelledText) -> tuple[str, str | None]:
    if isinstance(example, str):
        return example, None
    return (example.source, None) if isinstance(example, TextPair) else (example.text, example.pair)


def fidelity_for(head_model: HeadModel) -> Task:
    """The task to stay as the model is now, on natural sentences or on digits."""
    kind = kind_of(head_model.model)
    if kind == "translator":
        return TranslationFidelity(
            "natural-fidelity", "Fidelity on natural sentences", _natural_pairs(), reference=head_model
        )
    if kind == "looker":
        return Fidelity("digit-fidelity", "Fidelity on digits", head_model)
    if kind in ("classifier", "writer", "filler", "encoder"):
        return Fidelity("natural-fidelity", "Fidelity on natural sentences", head_model, _natural_texts())
    raise ValueError(f"{head_model.name} is a model that {KINDS[kind]}; it is judged on own data alone: {NEEDED}")


def _labels_fit(head_model: HeadModel, labels: tuple[str, ...]) -> bool:
    try:
        label_numbers(head_model, labels)
    except ValueError:
        return False
    return kind_of(head_model.model) != "looker" or gives_logits(head_model.model)


def _inference() -> Task:
    return Classification("inference", "Natural language inference", Splits(_inference_examples, _fresh_inference))


def _translation() -> Task:
    return Translation("translation", "English to German", Splits(_translation_examples, _fresh_translation))


def _stories() -> Task:
    return LanguageModelling("stories", "Stories", Splits(_story_examples, _fresh_stories))


def _digits() -> Task:
    return Digits("digits", "Handwritten digits")


def _sentiment() -> Task:
    examples = split_by_hash(
        NATURAL.name, [LabelledText(row["english"], row["sentiment"]) for row in _natural()], lambda one: one.text
    )
    return Classification("sentiment", "Sentiment of natural sentences", examples)


def _natural_translation() -> Task:
    return Translation("natural-translation", "Natural sentences, English to German", _natural_pairs())


def _written_passages() -> Task:
    return LanguageModelling(PASSAGES, "Passages in six registers", _passage_texts())


def _natural_text() -> Task:
    return LanguageModelling("natural-text", "Natural sentences", _natural_texts())


TASKS: dict[str, Callable[[], Task]] = {
    "inference": _inference,
    "translation": _translation,
    "stories": _stories,
    "digits": _digits,
    "sentiment": _sentiment,
    "natural-translation": _natural_translation,
    PASSAGES: _written_passages,
    "natural-text": _natural_text,
}

BY_KIND = {
    "translator": ("translation", "natural-translation"),
    "writer": ("stories", PASSAGES, "natural-text"),
    "filler": (PASSAGES, "natural-text"),
    "classifier": ("inference", "sentiment"),
    "looker": ("digits",),
    "encoder": (),
}
"""The tasks of our own for each kind of model."""

LABELS = {
    "inference": ("entailment", "neutral", "contradiction"),
    "sentiment": ("negative", "neutral", "positive"),
    "digits": tuple("0123456789"),
}


def _inference_stream(seed: int, split: str) -> Iterator[LabelledText]:
    pairs = inference_pairs(seed, split)
    return (LabelledText(one.premise.english, one.label, one.hypothesis.english) for one in pairs)


def _translation_stream(seed: int, split: str) -> Iterator[TextPair]:
    return (TextPair(one.english, one.german_text) for one in sentences(seed, split))


def _story_stream(seed: int, split: str) -> Iterator[str]:
    return (story.english for story in stories(seed, split))


@cache
def _inference_examples(split: str) -> tuple[LabelledText, ...]:
    return _distinct(split, _inference_stream(SEED, split))


@cache
def _translation_examples(split: str) -> tuple[TextPair, ...]:
    return _distinct(split, _translation_stream(SEED, split))


@cache
def _story_examples(split: str) -> tuple[str, ...]:
    return _distinct(split, _story_stream(SEED, split))


def _fresh_inference(seed: int, number: int) -> tuple[LabelledText, ...]:
    return tuple(islice(_inference_stream(_round_seed(seed, number), "train"), ROUND))


def _fresh_translation(seed: int, number: int) -> tuple[TextPair, ...]:
    return tuple(islice(_translation_stream(_round_seed(seed, number), "train"), ROUND))


def _fresh_stories(seed: int, number: int) -> tuple[str, ...]:
    return tuple(islice(_story_stream(_round_seed(seed, number), "train"), ROUND))


def _round_seed(seed: int, number: int) -> int:
    """A seed of the grammar for each round of each training; rounds beyond a hundred thousand meet the next seed's."""
    return FIRST_ROUND + 100_000 * seed + number


def _distinct(split: str, examples: Iterator[E]) -> tuple[E, ...]:
    """As many different examples as the split has."""
    found: dict[E, None] = {}
    for example in examples:
        found[example] = None
        if len(found) == SIZES[split]:
            break
    return tuple(found)


@cache
def _natural() -> tuple[dict[str, str], ...]:
    rows = read_table(Source.from_path(NATURAL), ["english", "german"], ["sentiment"]).rows
    return tuple(row.values for row in rows)


def _natural_pairs() -> Splits[TextPair]:
    pairs = [TextPair(row["english"], row["german"]) for row in _natural()]
    return split_by_hash(NATURAL.name, pairs, lambda pair: pair.source)


def _natural_texts() -> Splits[str]:
    return split_by_hash(NATURAL.name, [row["english"] for row in _natural()], lambda text: text)


def _passage_texts() -> Splits[str]:
    """One passage of each register in turn, and these rounds to the splits in turn, so that all have all registers."""
    rounds = list(zip(*passages().values(), strict=True))
    shares = (chain.from_iterable(rounds[part :: len(SPLITS)]) for part in range(len(SPLITS)))
    return Splits.of(*((passage.text for passage in share) for share in shares))
