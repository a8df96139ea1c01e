"""Batches run under one mask after another, each pass from the first attention layer on that a mask changes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import torch
from torch import Tensor

from headscope.models.devices import is_out_of_memory
from headscope.models.gating import gated
from headscope.models.head_model import HeadModel
from headscope.models.partial_forward import Recording, recording, resuming
from headscope.models.sites import Site
from headscope.pruning.masks import HeadMask
from headscope.tasks.batches.batching import Batch
from headscope.tasks.batches.memory_splitting import done_in_parts, fits

MEMORY = 256 * 2**20
"""Bytes that recorded passes may take together; what does not fit is run from its start."""

KEPT_PER_LAYER = 4
"""Tensors that a recording holds for an attention layer: its contexts, what it and its block give, and one to spare."""

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class _Kept:
    """A whole pass that was recorded, and the mask under which it ran."""

    mask: HeadMask
    recording: Recording


class Passes:
    """Looks at batches under masks; what a look tells is what it tells without any of this.

    A pass that begins in the first attention layer is recorded, and later passes over the batch go on from it where
    their masks first differ. A look must make exactly one forward pass, so one that generates text is none. Where
    memory runs out, the recordings go first; a batch that still does not fit is looked at in parts.
    """

    def __init__(self, head_model: HeadModel, batches: Sequence[Batch], memory: int = MEMORY) -> None:
        self.head_model = head_model
        self.batches = tuple(batches)
        self._kept: dict[int, _Kept] = {}
        self._recorded = _within(memory, [recorded_bytes(head_model, batch) for batch in self.batches])

    @torch.no_grad()
    def look(self, number: int, mask: HeadMask, look: Callable[[Batch], T]) -> list[T]:
        """What the look tells of the batch of that number, or of its parts in turn where it does not fit as a whole."""
        batch = self.batches[number]
        if fits(self.head_model, batch):
            try:
                return [self._whole(number, mask, look)]
            except (RuntimeError, MemoryError) as error:
                if not is_out_of_memory(error):
                    raise
        self._kept.clear()
        self._recorded = frozenset()
        with gated(self.head_model, mask.as_gates(self.head_model.device)):
            return done_in_parts(self.head_model, batch, look)

    def _whole(self, number: int, mask: HeadMask, look: Callable[[Batch], T]) -> T:
        batch, gates = self.batches[number], mask.as_gates(self.head_model.device)
        kept = self._kept.get(number)
        site = None if kept is None else _beginning(self.head_model, kept, mask)
        if kept is not None and site is not None:
            with resuming(kept.recording, site), gated(self.head_model, gates):
                return look(batch)
        if number not in self._recorded:
            with gated(self.head_model, gates):
                return look(batch)
        self._kept.pop(number, None)  # before the next is made, so that there are never two
        with recording(self.head_model, len(batch)) as found, gated(self.head_model, gates):
            told = look(batch)
        self._kept[number] = _Kept(mask, found)
        return told


def recorded_bytes(head_model: HeadModel, batch: Batch) -> int:
    """About how much memory a recorded pass over the batch takes: rather too much than too little."""
    outputs = [head_model.model.get_submodule(site.output) for site in head_model.sites if site.kept]
    width = sum(max(output.get_parameter("weight").shape) for output in outputs)  # of the heads, or of a hidden state
    positions = max(_positions(head_model, value) for value in batch.inputs.values())
    return len(batch) * positions * width * KEPT_PER_LAYER * int(head_model.model.dtype.itemsize)


def _positions(head_model: HeadModel, value: Tensor) -> int:
    """The tokens of a row, or the patches of an image and two more."""
    if value.dim() == 2:
        return value.shape[1]
    side = getattr(head_model.model.config, "patch_size", 1)
    return value.shape[-1] * value.shape[-2] // (side * side if isinstance(side, int) else 1) + 2


def _within(memory: int, sizes: Sequence[int]) -> frozenset[int]:
    """The numbers of the first batches whose recordings fit together."""
    fitting = set()
    for number, size in enumerate(sizes):
        if size <= memory:
            memory -= size
            fitting.add(number)
    return frozenset(fitting)


def _beginning(head_model: HeadModel, kept: _Kept, mask: HeadMask) -> Site | None:
    """The attention layer at which a pass can go on; None if that is the first, so that nothing would be saved.

    Where no head differs, it is the last.
    """
    sites = sorted((site for site in head_model.sites if site.kept), key=kept.recording.beginning)
    changed = {(head.bank, head.layer) for head in mask.removed ^ kept.mask.removed}
    for place, site in enumerate(sites):
        if (site.bank, site.layer) in changed:
            return site if place else None
    return sites[-1] if sites else None
