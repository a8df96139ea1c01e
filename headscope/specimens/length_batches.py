"""Batches of examples of one length, so that next to nothing is padding."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from itertools import groupby
from typing import TypeVar

import torch
from torch import Tensor

Example = TypeVar("Example")


def by_length(
    examples: Sequence[Example], length: Callable[[Example], tuple[int, ...]], budget: int
) -> list[list[Example]]:
    """Batches of equal first length, neighbours in the others, with about `budget` tokens of the last length each."""
    ordered = sorted(examples, key=length)
    batches = []
    for _, group in groupby(ordered, key=lambda example: length(example)[0]):
        batch: list[Example] = []
        for example in group:
            if batch and (len(batch) + 1) * length(example)[-1] > budget:
                batches.append(batch)
                batch = []
            batch.append(example)
        batches.append(batch)
    return batches


def shuffled(batches: list[list[Example]], seed: int, number: int) -> list[list[Example]]:
    """The batches in an order that depends on the seed and the number of the round."""
    random.Random(f"{seed}/{number}").shuffle(batches)
    return batches


def padded(rows: Sequence[Sequence[int]], filler: int) -> Tensor:
    """Rows of tokens as one tensor [row, longest], filled up on the right."""
    longest = max(map(len, rows))
    return torch.tensor([[*row, *[filler] * (longest - len(row))] for row in rows])
