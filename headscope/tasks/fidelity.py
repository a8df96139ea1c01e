"""Agreement with the unpruned model: needs no labels, so it judges any model on any texts or images."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import cross_entropy, kl_div, log_softmax

from headscope.models.gating import gated
from headscope.models.head_model import HeadModel
from headscope.tasks.batches.batching import BUDGET, IGNORED, Batch, EncodedRow, batched, text_budget
from headscope.tasks.batches.encoding import longest_text, text_inputs, text_tokens
from headscope.tasks.features import Landmarks, features_of
from headscope.tasks.language_modelling import gap_rows
from headscope.tasks.model_kinds import check_kind, choices, gives_logits
from headscope.tasks.statistics import metrics, paired_tests
from headscope.tasks.task import Choices, Metric, Outcomes, PerExample, Splits, Task, array
from headscope.tasks.translation import TextPair, Translation
from headscope.tasks.vision import image_budget, image_rows

LogChoices = Float[Tensor, "example choice"]

N_LANDMARKS = 64
LANDMARKS_OF = {"calibration": "development", "development": "calibration", "test": "calibration"}
"""The split whose first examples a model without an output head chooses from, for the examples of each split."""


def _first_choices(outcomes: Outcomes) -> tuple[list[int], list[int]]:
    return outcomes["predicted"].tolist(), outcomes["reference"].tolist()


def _agreed(outcomes: Outcomes) -> NDArray[np.bool_]:
    return np.asarray(outcomes["predicted"] == outcomes["reference"])


AGREEMENT = Metric(
    "agreement",
    True,
    "share of examples with the same first choice as the unpruned model",
    lambda outcomes: metrics.agreement(*_first_choices(outcomes)),
    lambda first, second: paired_tests.mcnemar(_agreed(first), _agreed(second)),
)
KL_DIVERGENCE = Metric(
    "KL divergence",
    False,
    "mean over examples of the KL divergence from the unpruned model's choice, in nats",
    lambda outcomes: metrics.mean_kl(outcomes["kl"]),
    lambda first, second: paired_tests.sign_flip(first["kl"], second["kl"]),
)


@dataclass(frozen=True)
class Fidelity(Task):
    """Whether the model chooses as `reference` does with all its heads, once for each example.

    The choice is that of a label, of what an image shows, of the next token at a place in the second half of a text,
    or of a masked token there. A model without an output head chooses, of N_LANDMARKS examples of another split, the
    one whose features with all heads are likest to those it gives now. Without `examples` the digits are looked at. The
    reference runs once for a split.
    """

    reference: HeadModel
    examples: Splits[str] | None = None
    _memory: dict[str, LogChoices] = field(default_factory=dict, init=False, repr=False, compare=False)
    _landmarks: dict[str, Landmarks] = field(default_factory=dict, init=False, repr=False, compare=False)

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """Agreement, then KL divergence."""
        return AGREEMENT, KL_DIVERGENCE

    def rows(self, head_model: HeadModel, split: str, n: int | None) -> list[EncodedRow]:
        """Examples, labelled with the first choice of the reference."""
        rows = self._unlabelled(head_model, split, n)
        if len(self._memory.get(split, ())) < len(rows):
            self._memory[split] = self._reference_run(split, n)
        answers = self._memory[split].argmax(dim=-1).tolist()
        return [replace(row, labels=_labelled(row.labels, answers[row.index])) for row in rows]

    def budget(self, head_model: HeadModel) -> int:
        """Places or images of a batch."""
        return image_budget(head_model) if self.examples is None else text_budget(head_model, BUDGET)

    def losses(self, head_model: HeadModel, batch: Batch) -> PerExample:
        """Cross-entropy of the reference's first choice.

        Not the divergence: that is at its least where all heads are open, so its gradient there says nothing.
        """
        labels = batch.labels if batch.labels.dim() == 1 else batch.labels.amax(dim=1)  # all others are IGNORED
        return cross_entropy(self.choices(head_model, batch), labels, reduction="none")

    def choices(self, head_model: HeadModel, batch: Batch) -> Choices:
        """The logits of the one choice each row is about."""
        landmarks = self._landmarks.get(batch.split)
        return choices(head_model, batch) if landmarks is None else landmarks.choices(features_of(head_model, batch))

    def _log_choices(self, head_model: HeadModel, batch: Batch) -> LogChoices:
        return log_softmax(self.choices(head_model, batch), dim=-1)

    def landmarks_of(self, split: str) -> str:
        """The split whose first examples are chosen from in this one; empty where labels or tokens are chosen."""
        return LANDMARKS_OF[split] if split in self._landmarks else ""

    def observe(self, head_model: HeadModel, batch: Batch) -> Mapping[str, NDArray[Any]]:
        """First choices of both models, and the divergence."""
        found = self._log_choices(head_model, batch)
        reference = self._memory[batch.split][list(batch.indices)].to(found)
        return {
            "predicted": array(found.argmax(dim=-1)),
            "reference": array(reference.argmax(dim=-1)),
            "kl": array(divergences(reference, found)),
        }

    def _reference_run(self, split: str, n: int | None) -> LogChoices:
        """What the reference makes of the first n examples, with all its heads, in the order of the split."""
        with gated(self.reference, _open_gates(self.reference)), torch.inference_mode(False), torch.no_grad():
            if split not in self._landmarks and not gives_logits(self.reference.model):
                seen = self._of_reference(LANDMARKS_OF[split], N_LANDMARKS, features_of)
                self._landmarks[split] = Landmarks.of(seen)
            return self._of_reference(split, n, self._log_choices)

    def _of_reference(self, split: str, n: int | None, of_batch: Callable[[HeadModel, Batch], Tensor]) -> Tensor:
        """A row an example of the first n, in the order of the split."""
        rows = self._unlabelled(self.reference, split, n)
        found: dict[int, Tensor] = {}
        for batch in batched(rows, self.reference, split, self.budget(self.reference)):
            found.update(zip(batch.indices, of_batch(self.reference, batch).cpu(), strict=True))
        return torch.stack([found[index] for index in range(len(rows))])

    def _unlabelled(self, head_model: HeadModel, split: str, n: int | None) -> list[EncodedRow]:
        if self.examples is None:
            return image_rows(head_model, split, n)
        return choice_rows(head_model, self.title, self.examples.first(split, n))


@dataclass(frozen=True)
class TranslationFidelity(Translation):
    """Whether the model still writes what `reference` writes with all its heads: BLEU and chrF against that."""

    reference: HeadModel = field(kw_only=True)
    _memory: dict[str, tuple[TextPair, ...]] = field(default_factory=dict, init=False, repr=False, compare=False)

    def pairs(self, split: str, n: int | None = None) -> tuple[TextPair, ...]:
        """The first n sources of a split, each with what the reference writes for it."""
        given = self.examples.first(split, n)
        if len(self._memory.get(split, ())) < len(given):
            labelled = Translation(self.key, self.title, self.examples, self.n_beams)
            with gated(self.reference, _open_gates(self.reference)):
                written = labelled.outcomes(self.reference, split, n)["hypothesis"]
            own = zip(given, written.tolist(), strict=True)
            self._memory[split] = tuple(TextPair(pair.source, text) for pair, text in own)
        return self._memory[split][: len(given)]


def choice_rows(head_model: HeadModel, title: str, texts: tuple[str, ...]) -> list[EncodedRow]:
    """Texts as the model reads them, each with one thing to choose, which is labelled 0."""
    kind = check_kind(head_model, title, "classifier", "writer", "filler", "encoder")
    if kind in ("classifier", "encoder"):
        inputs = text_inputs(head_model, [(text, None) for text in texts])
        return [EncodedRow(index, encoded, 0) for index, encoded in enumerate(inputs)]
    if kind == "filler":
        rows = [replace(row, labels=_labelled(row.labels, 0)) for row in gap_rows(head_model, texts, 1)]
    else:
        longest = longest_text(head_model)
        tokens = enumerate(text_tokens(head_model, texts))
        rows = [_beginning(index, texts[index], ids[:longest]) for index, ids in tokens if ids]
    empty = sorted(set(range(len(texts))) - {row.index for row in rows})
    if empty:
        raise ValueError(f"{title}: {texts[empty[0]]!r} has no token for {head_model.name}; every text needs one")
    return rows


def divergences(reference: LogChoices, found: LogChoices) -> PerExample:
    """KL(reference || found) of every example, in nats, from logarithms of probabilities; rounding below 0 is cut."""
    return kl_div(found, reference, reduction="none", log_target=True).sum(dim=-1).clamp(min=0)


def _beginning(index: int, text: str, tokens: list[int]) -> EncodedRow:
    """A text up to a place in its second half that its hash picks, where the next token is chosen."""
    half = (len(tokens) + 1) // 2
    digest = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")
    n_read = half + digest % max(1, len(tokens) - half)
    inputs = {"input_ids": tokens[:n_read], "attention_mask": [1] * n_read}
    return EncodedRow(index, inputs, [IGNORED] * (n_read - 1) + [0])


def _labelled(labels: int | list[int], answer: int) -> int | list[int]:
    """The same labels with the answer in the one place that has any."""
    if isinstance(labels, int):
        return answer
    return [IGNORED if label == IGNORED else answer for label in labels]


def _open_gates(head_model: HeadModel) -> Tensor:
    return torch.ones(len(head_model.grid), device=head_model.device)
