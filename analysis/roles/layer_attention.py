"""What the heads of one layer look at in one reading: between tokens or between words, without padding."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy.typing import NDArray
from torch import Tensor

from headscope.analysis.roles.sample import Reading, Side
from headscope.analysis.roles.word_pieces import NO_WORD
from headscope.models.devices import one_thread
from headscope.models.head_model import HeadModel
from headscope.models.inputs import accepted
from headscope.models.recording.attention_statistics import Attention
from headscope.models.recording.maps import watching
from headscope.models.sites import Site
from headscope.tasks.batches.batching import IGNORED, Batch

TOKEN, ANY, WORD, WRITTEN = "token", "any token", "word", "written word"
"""Between what a head looks: tokens of words, all tokens, words, or from the place that writes a word to words."""

ROUNDING = 1e-6
"""Weights that differ by less than this share are the same."""

Maps = Float[Tensor, "head query key"]
Strongest = Int[Tensor, "head query"]
Consumer = Callable[[Site, "Look"], None]
Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Look:
    """The attention of some heads over one reading, special tokens included."""

    reading: Reading
    bank: str
    attention: Maps
    _known: dict[str, Maps] = field(default_factory=dict, repr=False)
    _strongest: dict[str, Strongest] = field(default_factory=dict, repr=False)

    def weights(self, unit: str) -> Maps:
        """Attention between units; 0 on what is none, such as special tokens.

        Attention to a word is summed over its pieces, attention from a word is the mean of that from its pieces, after
        Clark et al. 2019.
        """
        if unit not in self._known:
            self._known[unit] = self._weights(unit)
        return self._known[unit]

    def strongest(self, unit: str) -> Strongest:
        """The unit that each looks at most; -1 where no weight is on any, or where several have the most alike."""
        if unit not in self._strongest:
            self._strongest[unit] = self._found_strongest(self.weights(unit))
        return self._strongest[unit]

    @staticmethod
    def _found_strongest(weights: Maps) -> Strongest:
        most, places = weights.topk(min(2, weights.shape[-1]), dim=-1)
        decided = most[..., 0] > 0
        if most.shape[-1] == 2:
            decided &= most[..., 1] < most[..., 0] * (1 - ROUNDING)
        return torch.where(decided, places[..., 0], -1)

    def _weights(self, unit: str) -> Maps:
        queries, keys = self.reading.sides(self.bank)
        if unit == ANY:
            return self.attention
        if unit == TOKEN:
            ordinary = torch.tensor(keys.owners) != NO_WORD
            return self.attention * ordinary.to(self.attention)
        if unit == WRITTEN and self.reading.written is not None:
            queries = self.reading.written
        looking, looked_at = member(queries).to(self.attention), member(keys).to(self.attention)
        return (looking / looking.sum(0).clamp(min=1)).T @ self.attention @ looked_at


def even(reading: Reading, bank: str) -> Look:
    """One head that looks at all it can see alike: at no later token in a decoder."""
    queries, keys = reading.sides(bank)
    visible = torch.ones(1, len(queries), len(keys), dtype=torch.float64)
    if bank == "decoder":
        visible = visible.tril()
    return Look(reading, bank, visible / visible.sum(dim=-1, keepdim=True))


def member(side: Side) -> Float[Tensor, "token word"]:
    """1 where a token belongs to a word."""
    owners = torch.tensor(side.owners)
    return (owners[:, None] == torch.arange(side.n_words)).double()


@torch.no_grad()
def look_at(head_model: HeadModel, batch: Batch, readings: Mapping[int, Reading], consumer: Consumer) -> None:
    """Hands on what the heads of every layer look at in every row of a batch, padded on whichever side.

    A layer that runs several times gives the mean of its maps. Keys that are no tokens are left out, and what is left
    is not divided by its sum.
    """
    layers = _Layers(head_model, batch, readings, consumer)
    with watching(head_model, layers.add):
        head_model.model(**batch.inputs, **accepted(head_model.model, use_cache=False))


@dataclass(eq=False)
class _Layers:
    """Puts the parts of the maps of a layer together, and hands them on when the layer is done."""

    head_model: HeadModel
    batch: Batch
    readings: Mapping[int, Reading]
    consumer: Consumer
    parts: dict[Site, list[Attention]] = field(default_factory=dict)
    calls: dict[Site, list[Attention]] = field(default_factory=dict)

    def add(self, site: Site, attention: Attention, first_query: int) -> None:
        """One more part of a map."""
        parts = self.parts.setdefault(site, [])
        parts.append(attention)
        if first_query + attention.shape[-2] < self._n_queries(site, attention):
            return
        calls = self.calls.setdefault(site, [])
        calls.append(torch.cat(self.parts.pop(site), dim=-2))
        if len(calls) == site.calls:
            attention = torch.stack(self.calls.pop(site)).mean(dim=0) if site.calls > 1 else self.calls.pop(site)[0]
            with one_thread():
                self._hand_on(site, attention)

    def _n_queries(self, site: Site, attention: Attention) -> int:
        inputs = self.batch.inputs
        if "input_ids" not in inputs:
            return attention.shape[-1]
        return inputs[_query_name(site.bank, inputs)].shape[1]

    def _hand_on(self, site: Site, attention: Attention) -> None:
        if attention.shape[0] != len(self.batch):
            raise ValueError(
                f"{site.core} attends in {attention.shape[0]} rows for a batch of {len(self.batch)}; one each is needed"
            )
        attention = attention.cpu().to(torch.promote_types(attention.dtype, torch.float32))
        queries, keys = self._real[site.bank]
        for row, index in enumerate(self.batch.indices):
            reading = self.readings[index]
            width = keys[row].n_places or attention.shape[-1]
            of_tokens = attention[row][..., attention.shape[-1] - width :]  # vectors of the head's own come before
            own = of_tokens[:, queries[row].within(attention.shape[-2])][..., keys[row].within(width)]
            n_queries, n_keys = (len(side) for side in reading.sides(site.bank))
            if own.shape[1:] != (n_queries, n_keys):
                raise ValueError(
                    f"{site.core} attends from {own.shape[1]} places to {own.shape[2]}; "
                    f"allowed is one place a token, here {n_queries} and {n_keys}"
                )
            self.consumer(site, Look(reading, site.bank, own))

    @cached_property
    def _real(self) -> dict[str, tuple[list[_Places], list[_Places]]]:
        """By bank, the places of queries and of keys that are not padding, row by row."""
        inputs = self.batch.inputs
        if "input_ids" not in inputs:
            everywhere = [_Places(None, 0)] * len(self.batch)
            return dict.fromkeys(("encoder", "decoder", "cross"), (everywhere, everywhere))
        source = _places(inputs["attention_mask"].bool())
        target = _places(self.batch.labels != IGNORED) if "decoder_input_ids" in inputs else source
        return {"encoder": (source, source), "decoder": (target, target), "cross": (target, source)}


@dataclass(frozen=True, eq=False)
class _Places:
    """Places among `n_places`; all of them without `chosen`."""

    chosen: Tensor | None
    n_places: int

    def within(self, n: int) -> Tensor:
        return torch.arange(n) if self.chosen is None else self.chosen


def _places(real: Tensor) -> list[_Places]:
    return [_Places(row.nonzero().flatten().cpu(), len(row)) for row in real]


def _query_name(bank: str, inputs: Mapping[str, Tensor]) -> str:
    return "decoder_input_ids" if bank != "encoder" and "decoder_input_ids" in inputs else "input_ids"
