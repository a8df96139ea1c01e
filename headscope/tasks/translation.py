"""A text in another language."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headscope.models.head_model import HeadModel
from headscope.tasks.batches.batching import BUDGET, Batch, EncodedRow, text_budget
from headscope.tasks.batches.encoding import longest_text, read_texts, text_inputs
from headscope.tasks.generation import generated, start_token
from headscope.tasks.language_modelling import mean_losses
from headscope.tasks.model_kinds import check_kind
from headscope.tasks.statistics import metrics, paired_tests
from headscope.tasks.task import SPLITS, Metric, Outcomes, PerExample, Splits, Task

GENERATION_BUDGET = 4096
"""Source places of a batch that is translated: a step of the decoder is small, so many rows share it."""


@dataclass(frozen=True)
class TextPair:
    """A text and its translation."""

    source: str
    target: str


def _texts(outcomes: Outcomes) -> tuple[list[str], list[str]]:
    return outcomes["hypothesis"].tolist(), outcomes["reference"].tolist()


BLEU = Metric(
    "BLEU",
    True,
    f"sacreBLEU {metrics.bleu_signature()}",
    lambda outcomes: metrics.bleu(*_texts(outcomes)),
    lambda first, second: paired_tests.paired_bootstrap(
        metrics.bleu_sums(*_texts(first)), metrics.bleu_sums(*_texts(second))
    ),
)
CHRF = Metric(
    "chrF",
    True,
    f"sacreBLEU {metrics.chrf_signature()}",
    lambda outcomes: metrics.chrf(*_texts(outcomes)),
    lambda first, second: paired_tests.paired_bootstrap(
        metrics.chrf_sums(*_texts(first)), metrics.chrf_sums(*_texts(second))
    ),
)


@dataclass(frozen=True)
class Translation(Task):
    """The translation of every text, written greedily or by beam search."""

    examples: Splits[TextPair]
    n_beams: int = 1

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """BLEU, then chrF."""
        return BLEU, CHRF

    def pairs(self, split: str, n: int | None = None) -> tuple[TextPair, ...]:
        """The first n sources of a split and what they should become."""
        return self.examples.first(split, n)

    def rows(self, head_model: HeadModel, split: str, n: int | None) -> list[EncodedRow]:
        """Sources, and the tokens of their translations shifted by one, as a model is taught."""
        return self._encoded(head_model, self.pairs(split, n))

    @property
    def fresh(self) -> bool:
        """Whether a generator makes the examples."""
        return self.examples.fresh is not None

    def training_rows(self, head_model: HeadModel, seed: int, number: int) -> list[EncodedRow]:
        """Fresh pairs where there are any."""
        fresh = self.examples.fresh
        pairs = self.pairs(SPLITS[0]) if fresh is None else fresh(seed, number)
        return self._encoded(head_model, pairs)

    def _encoded(self, head_model: HeadModel, pairs: Sequence[TextPair]) -> list[EncodedRow]:
        check_kind(head_model, self.title, "translator")
        prefix, start = _prefix(head_model), start_token(head_model.model)
        sources = text_inputs(head_model, [(prefix + pair.source, None) for pair in pairs])
        longest = longest_text(head_model)
        targets = read_texts(
            head_model, text_target=[pair.target for pair in pairs], truncation=True, max_length=longest
        ).input_ids
        return [
            EncodedRow(
                index,
                {name: source[name] for name in ("input_ids", "attention_mask")}
                | {"decoder_input_ids": [start, *target[:-1]]},
                list(target),
            )
            for index, (source, target) in enumerate(zip(sources, targets, strict=True))
        ]

    def budget(self, head_model: HeadModel) -> int:
        """Places whose logits fit."""
        return text_budget(head_model, BUDGET)

    def outcomes(self, head_model: HeadModel, split: str, n: int | None = None, budget: int | None = None) -> Outcomes:
        """What the model writes for the first n examples of a split."""
        return super().outcomes(head_model, split, n, budget or GENERATION_BUDGET)

    def losses(self, head_model: HeadModel, batch: Batch) -> PerExample:
        """Mean cross-entropy of the tokens of the true translation, each after the true ones before it."""
        return mean_losses(head_model, batch)

    def observe(self, head_model: HeadModel, batch: Batch) -> Mapping[str, NDArray[Any]]:
        """What the model writes, and what it should have written."""
        sources = {name: batch.inputs[name] for name in ("input_ids", "attention_mask")}
        tokens = generated(head_model, sources, self.n_beams)
        written = head_model.tokenizer.batch_decode(tokens, skip_special_tokens=True)
        pairs = self.pairs(batch.split, max(batch.indices) + 1)
        references = [pairs[index].target for index in batch.indices]
        return {"hypothesis": np.array(written, dtype=object), "reference": np.array(references, dtype=object)}


def _prefix(head_model: HeadModel) -> str:
    """What a model of many tasks, such as T5, wants to read first."""
    tasks = getattr(head_model.model.config, "task_specific_params", None) or {}
    return str(tasks.get("translation_en_to_de", {}).get("prefix", ""))
