"""A batch done whole or, where memory runs out, in parts that fit, one after the other."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from headscope.models.devices import fitting_rows, in_parts
from headscope.models.head_model import HeadModel
from headscope.tasks.batches.batching import Batch

T = TypeVar("T")


def done_in_parts(head_model: HeadModel, batch: Batch, work: Callable[[Batch], T]) -> list[T]:
    """What `work` gives for the batch, or for its parts where it does not fit, in the order of the rows.

    It must leave nothing behind if it fails. How much fitted is remembered for the model and its device, so the next
    batch begins with that.
    """
    return in_parts(head_model.model, len(batch), width(batch), lambda rows: work(rows_of(batch, rows)))


def fits(head_model: HeadModel, batch: Batch) -> bool:
    """Whether nothing is known against doing the batch at once."""
    return fitting_rows(head_model.model, len(batch), width(batch)) == len(batch)


def fitting_part(head_model: HeadModel, batch: Batch) -> Batch:
    """As many of its first rows as are known to fit, all of them where nothing is known."""
    return rows_of(batch, slice(0, fitting_rows(head_model.model, len(batch), width(batch))))


def width(batch: Batch) -> int:
    """The places of a row; an image counts as one."""
    return max(value.shape[1] if value.dim() == 2 else 1 for value in batch.inputs.values())


def rows_of(batch: Batch, rows: slice) -> Batch:
    """Some neighbouring rows of the batch; the batch itself if that is all of them."""
    if rows.start == 0 and rows.stop >= len(batch):
        return batch
    inputs = {name: value[rows] for name, value in batch.inputs.items()}
    return replace(batch, indices=batch.indices[rows], inputs=inputs, labels=batch.labels[rows])


def joined(parts: Sequence[Mapping[str, NDArray[Any]]]) -> Mapping[str, NDArray[Any]]:
    """The columns of parts, one after the other."""
    if len(parts) == 1:
        return parts[0]
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
