"""A label for a text or a pair of texts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch.nn.functional import cross_entropy

from headscope.models.head_model import HeadModel
from headscope.tasks.batches.batching import Batch, EncodedRow
from headscope.tasks.batches.encoding import text_inputs
from headscope.tasks.model_kinds import check_kind, choices
from headscope.tasks.statistics import metrics, paired_tests
from headscope.tasks.task import Metric, Outcomes, PerExample, Splits, Task, array


@dataclass(frozen=True)
class LabelledText:
    """A text, or a pair of texts, and its label."""

    text: str
    label: str
    pair: str | None = None


def hits(outcomes: Outcomes) -> NDArray[np.bool_]:
    """Right or wrong, per example."""
    return np.asarray(outcomes["predicted"] == outcomes["gold"])


def _labels(outcomes: Outcomes) -> tuple[list[int], list[int]]:
    return outcomes["predicted"].tolist(), outcomes["gold"].tolist()


ACCURACY = Metric(
    "accuracy",
    True,
    "share of examples with the right label",
    lambda outcomes: metrics.accuracy(*_labels(outcomes)),
    lambda first, second: paired_tests.mcnemar(hits(first), hits(second)),
)
MACRO_F1 = Metric(
    "macro F1",
    True,
    "mean over labels of the harmonic mean of precision and recall",
    lambda outcomes: metrics.macro_f1(*_labels(outcomes)),
    lambda first, second: paired_tests.paired_bootstrap(
        metrics.macro_f1_sums(*_labels(first)), metrics.macro_f1_sums(*_labels(second))
    ),
)


@dataclass(frozen=True)
class Classification(Task):
    """The label of every text; the model's config says which of its outputs is which label."""

    examples: Splits[LabelledText]

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """Accuracy, then macro F1."""
        return ACCURACY, MACRO_F1

    def rows(self, head_model: HeadModel, split: str, n: int | None) -> list[EncodedRow]:
        """Texts as the tokenizer gives them, cut to what the model reads, and the number of their label."""
        return self._encoded(head_model, self.examples.first(split, n))

    @property
    def fresh(self) -> bool:
        """Whether a generator makes the examples."""
        return self.examples.fresh is not None

    def training_rows(self, head_model: HeadModel, seed: int, number: int) -> list[EncodedRow]:
        """Fresh texts where there are any."""
        return self._encoded(head_model, self.examples.training(seed, number))

    def _encoded(self, head_model: HeadModel, examples: Sequence[LabelledText]) -> list[EncodedRow]:
        check_kind(head_model, self.title, "classifier")
        numbers = label_numbers(head_model, {example.label for example in examples})
        inputs = text_inputs(head_model, [(example.text, example.pair) for example in examples])
        return [
            EncodedRow(index, encoded, numbers[example.label])
            for index, (example, encoded) in enumerate(zip(examples, inputs, strict=True))
        ]

    def losses(self, head_model: HeadModel, batch: Batch) -> PerExample:
        """Cross-entropy of the label."""
        return cross_entropy(choices(head_model, batch), batch.labels, reduction="none")

    def observe(self, head_model: HeadModel, batch: Batch) -> Mapping[str, NDArray[Any]]:
        """The predicted and the true label, by number."""
        return {"predicted": array(choices(head_model, batch).argmax(dim=-1)), "gold": array(batch.labels)}


def label_numbers(head_model: HeadModel, labels: Iterable[str]) -> dict[str, int]:
    """Which output of the model stands for each label.

    Names count without regard to case; whole numbers are the outputs themselves where a model has no names for them.
    """
    wanted = sorted(labels)
    names = {int(number): str(name) for number, name in (head_model.model.config.id2label or {}).items()}
    known = {name.casefold(): number for number, name in names.items()}
    if all(name == f"LABEL_{number}" for number, name in names.items()):
        known |= {str(number): number for number in names}
    unknown = [label for label in wanted if label.casefold() not in known]
    if unknown:
        raise ValueError(
            f"the data has the label{'s' * (len(unknown) > 1)} {_listed(unknown)}; "
            f"the labels of {head_model.name} are {_listed(list(names.values()))}"
        )
    return {label: known[label.casefold()] for label in wanted}


def _listed(labels: Sequence[str], most: int = 6) -> str:
    return ", ".join(map(repr, labels[:most])) + ", …" * (len(labels) > most)
