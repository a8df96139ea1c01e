"""How well a model predicts the tokens of a text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from jaxtyping import Float, Int
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import cross_entropy

from headscope.models.head_model import HeadModel
from headscope.models.inputs import accepted
from headscope.tasks.batches.batching import BUDGET, IGNORED, Batch, EncodedRow, text_budget
from headscope.tasks.batches.encoding import longest_text, read_texts, text_tokens, tokenizer_of
from headscope.tasks.model_kinds import check_kind
from headscope.tasks.statistics import metrics, paired_tests
from headscope.tasks.task import Metric, Outcomes, PerExample, Splits, Task, array, precise

Logits = Float[Tensor, "example place token"]
Labels = Int[Tensor, "example place"]

READINGS = 4
"""How often a model that fills gaps reads a text, each time with other tokens masked."""

APART = 32
"""The distance of tokens that are masked in the same reading, so that each still has nearly all of its context."""


def _sums(outcomes: Outcomes) -> tuple[NDArray[Any], NDArray[Any]]:
    return outcomes["nll"], outcomes["n_tokens"]


PERPLEXITY = Metric(
    "perplexity",
    False,
    "exp of the mean negative log-likelihood of a token, over all tokens",
    lambda outcomes: metrics.perplexity(*_sums(outcomes)),
    lambda first, second: paired_tests.paired_bootstrap(
        metrics.perplexity_sums(*_sums(first)), metrics.perplexity_sums(*_sums(second))
    ),
)
BITS_PER_TOKEN = Metric(
    "bits per token",
    False,
    "mean negative log-likelihood of a token, in bits, over all tokens",
    lambda outcomes: metrics.bits_per_token(*_sums(outcomes)),
    lambda first, second: paired_tests.paired_bootstrap(
        metrics.bits_per_token_sums(*_sums(first)), metrics.bits_per_token_sums(*_sums(second))
    ),
)


@dataclass(frozen=True)
class LanguageModelling(Task):
    """The next token at every place of a text; for a model that fills gaps, masked tokens spread over the text.

    The latter is the pseudo-perplexity of Salazar et al. 2020. Differs: the paper masks every token, each in a pass of
    its own. We read a text READINGS times at most, and a reading masks one token, or one for every APART tokens of a
    longer text. The two perplexities are not to be compared with each other.
    """

    examples: Splits[str]

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """Perplexity, then bits per token."""
        return PERPLEXITY, BITS_PER_TOKEN

    def rows(self, head_model: HeadModel, split: str, n: int | None) -> list[EncodedRow]:
        """Texts, cut into windows of what the model reads at once; those without a token to predict are left out."""
        return self._encoded(head_model, self.examples.first(split, n))

    @property
    def fresh(self) -> bool:
        """Whether a generator makes the examples."""
        return self.examples.fresh is not None

    def training_rows(self, head_model: HeadModel, seed: int, number: int) -> list[EncodedRow]:
        """Fresh texts where there are any."""
        return self._encoded(head_model, self.examples.training(seed, number))

    def _encoded(self, head_model: HeadModel, texts: Sequence[str]) -> list[EncodedRow]:
        kind = check_kind(head_model, self.title, "writer", "filler")
        return window_rows(head_model, texts) if kind == "writer" else gap_rows(head_model, texts, READINGS, APART)

    def budget(self, head_model: HeadModel) -> int:
        """Places whose logits fit."""
        return text_budget(head_model, BUDGET)

    def losses(self, head_model: HeadModel, batch: Batch) -> PerExample:
        """Mean negative log-likelihood of the predicted tokens of a row."""
        return mean_losses(head_model, batch)

    def observe(self, head_model: HeadModel, batch: Batch) -> Mapping[str, NDArray[Any]]:
        """Summed negative log-likelihood, in nats, and number of predicted tokens."""
        nll, n_tokens = token_sums(head_model.model(**batch.inputs).logits, batch.labels)
        return {"nll": array(nll), "n_tokens": array(n_tokens)}

    def gathered(self, split: str, seen: Sequence[Outcomes]) -> Outcomes:
        """The outcomes of several batches as one, the rows of a text added up."""
        rows = super().gathered(split, seen)
        indices, starts = np.unique(rows.indices, return_index=True)
        sums = {name: np.add.reduceat(column, starts) for name, column in rows.columns.items()}
        return replace(rows, indices=indices, columns=sums)


def mean_losses(head_model: HeadModel, batch: Batch) -> PerExample:
    """Mean cross-entropy over the labelled places of every row."""
    nll, n_tokens = token_sums(head_model.model(**batch.inputs).logits, batch.labels)
    return nll / n_tokens


def token_sums(logits: Logits, labels: Labels) -> tuple[PerExample, PerExample]:
    """Summed cross-entropy and number of the labelled places of every row."""
    per_place = cross_entropy(precise(logits).transpose(1, 2), labels, reduction="none", ignore_index=IGNORED)
    return per_place.sum(dim=1), (labels != IGNORED).sum(dim=1).to(per_place.dtype)


def window_rows(head_model: HeadModel, texts: Sequence[str]) -> list[EncodedRow]:
    """Windows in which every token of a text but its first is predicted exactly once.

    A begin token, where the tokenizer has one, comes first, so that the first word is predicted too. A window starts
    with the last token of the one before.
    """
    width = longest_text(head_model)
    rows = []
    for index, tokens in enumerate(text_tokens(head_model, texts)):
        for start in range(0, len(tokens) - 1, width - 1):
            window = tokens[start : start + width]
            inputs = {"input_ids": window, "attention_mask": [1] * len(window)}
            rows.append(EncodedRow(index, inputs, [*window[1:], IGNORED]))
    return rows


def gap_rows(
    head_model: HeadModel, texts: Sequence[str], n_readings: int, apart: int | None = None
) -> list[EncodedRow]:
    """Every text at most n_readings times, with other tokens masked each time, which are spread over it.

    A reading has one of them, or with `apart` one for every full stretch of so many tokens.
    """
    tokenizer = tokenizer_of(head_model)
    if tokenizer.mask_token_id is None:
        raise ValueError(f"the tokenizer of {head_model.name} has no mask token; a model that fills gaps needs one")
    encoded = read_texts(
        head_model,
        list(texts),
        truncation=True,
        max_length=longest_text(head_model),
        return_special_tokens_mask=True,
        return_attention_mask=True,
    )
    special = encoded.pop("special_tokens_mask")
    named = accepted(head_model.model, **encoded)
    rows = []
    for index in range(len(texts)):
        inputs = {name: list(values[index]) for name, values in named.items()}
        ordinary = [place for place, flag in enumerate(special[index]) if not flag]
        stretches = 1 if apart is None else max(1, len(ordinary) // apart)
        masked = _spread(ordinary, n_readings * stretches)
        readings = (masked[reading::n_readings] for reading in range(n_readings))
        rows += [_with_gaps(index, inputs, places, tokenizer.mask_token_id) for places in readings if places]
    return rows


def _with_gaps(index: int, inputs: dict[str, list[int]], places: Sequence[int], mask: int) -> EncodedRow:
    tokens, labels = list(inputs["input_ids"]), [IGNORED] * len(inputs["input_ids"])
    for place in places:
        tokens[place], labels[place] = mask, inputs["input_ids"][place]
    return EncodedRow(index, inputs | {"input_ids": tokens}, labels)


def _spread(places: Sequence[int], n: int) -> list[int]:
    """At most n of the places, in the middles of n equal parts."""
    if len(places) <= n:
        return list(places)
    return [places[(2 * part + 1) * len(places) // (2 * n)] for part in range(n)]
