"""Encoded examples of like length side by side, so that hardly a padded place is computed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from headscope.models.head_model import HeadModel

IGNORED = -100
"""The label of a place that is not judged."""

BUDGET = 4096
"""Places, padded ones too, that a batch may have."""

LOGIT_BUDGET = 2**26
"""Numbers that the logits of a batch may have: a quarter of a GB in single precision."""


@dataclass(frozen=True)
class EncodedRow:
    """What a model reads of one example, or of a part of it: tokens or one image, and a label or one a place.

    `index` is the number of the example in its split; parts of one example share it.
    """

    index: int
    inputs: Mapping[str, Any]
    labels: int | list[int]

    @property
    def lengths(self) -> tuple[int, ...]:
        """The length of every input, the longest first; an image counts as one place."""
        lengths = [len(value) if isinstance(value, list) else 1 for value in self.inputs.values()]
        return tuple(sorted(lengths, reverse=True))


@dataclass(frozen=True, eq=False)
class Batch:
    """Rows on the model's device, padded on the right; `indices` are the numbers of their examples in the split."""

    split: str
    indices: tuple[int, ...]
    inputs: dict[str, Tensor]
    labels: Tensor

    def __len__(self) -> int:
        return len(self.indices)


def batched(rows: Sequence[EncodedRow], head_model: HeadModel, split: str, budget: int) -> Iterator[Batch]:
    """Batches of neighbours in length, each of at most `budget` places or one row."""
    if budget < 1:
        raise ValueError(f"a budget of {budget} places; at least 1 is needed")
    waiting: list[EncodedRow] = []
    for row in sorted(rows, key=lambda row: row.lengths):
        if waiting and (len(waiting) + 1) * row.lengths[0] > budget:
            yield collated(waiting, head_model, split)
            waiting = []
        waiting.append(row)
    if waiting:
        yield collated(waiting, head_model, split)


def collated(rows: Sequence[EncodedRow], head_model: HeadModel, split: str) -> Batch:
    """One batch of these rows, in this order."""
    padding = padding_token(head_model)
    inputs = {
        name: _stacked([row.inputs[name] for row in rows], padding if name.endswith("input_ids") else 0)
        for name in rows[0].inputs
    }
    labels = _stacked([row.labels for row in rows], IGNORED)
    device, dtype = head_model.device, head_model.model.dtype
    placed = {name: value.to(device, dtype if value.is_floating_point() else None) for name, value in inputs.items()}
    return Batch(split, tuple(row.index for row in rows), placed, labels.to(device))


def padding_token(head_model: HeadModel) -> int:
    """The token that fills up a row; any will do where none is named, for padding is never read."""
    named = (
        getattr(head_model.tokenizer, "pad_token_id", None),
        getattr(head_model.model.config, "pad_token_id", None),
    )
    return next((int(token) for token in named if token is not None), 0)


def text_budget(head_model: HeadModel, budget: int) -> int:
    """The budget, or what the logits over a large vocabulary leave of it."""
    vocabulary: int = head_model.model.config.get_text_config(decoder=True).vocab_size
    return max(1, min(budget, LOGIT_BUDGET // vocabulary))


def _stacked(values: Sequence[Any], filler: int) -> Tensor:
    first = values[0]
    if isinstance(first, Tensor):
        return torch.stack(list(values))
    if isinstance(first, int):
        return torch.tensor(values)
    width = max(map(len, values))
    return torch.tensor([[*value, *[filler] * (width - len(value))] for value in values])
