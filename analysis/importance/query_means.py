"""Means over the queries of a head, example by example, while attention maps stream by and none is kept."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from headscope.analysis.importance.method import OfLayer, Values, Weights, on_grid
from headscope.analysis.importance.positions import Counted, counted_positions, n_image_tokens, special_tokens
from headscope.models.head_model import HeadModel
from headscope.models.inputs import accepted
from headscope.models.recording.attention_statistics import Attention, PerQuery, ValidQueries
from headscope.models.recording.maps import watching
from headscope.models.sites import Site
from headscope.tasks.batches.batching import Batch

Tokens = Bool[Tensor, "batch token"]
Visible = Int[Tensor, "batch query"]
Measure = Callable[[Attention, Visible], tuple[PerQuery, ValidQueries]]
"""Of weights, which are 0 on keys left out, and of the number of keys a query can see: a number a query, and which
queries have one."""


@torch.no_grad()
def query_means(head_model: HeadModel, batch: Batch, measure: Measure) -> tuple[Values, Weights]:
    """The mean of a measure over the queries of every example and head, and how many queries that were.

    Padding and special tokens, what comes before the patches of an image, and keys that are no tokens at all, such as
    the persistent vectors of an all-attention model, are neither queries nor keys.
    """
    counted = counted_positions(batch, special_tokens(head_model))
    sums = _Sums(head_model, measure, counted)
    with watching(head_model, sums.add):
        head_model.model(**batch.inputs, **accepted(head_model.model, use_cache=False))
    means = {site: total / sums.counts[site].clamp(min=1) for site, total in sums.totals.items()}
    return on_grid(head_model, batch, means), on_grid(head_model, batch, sums.counts, removed=1.0)


@dataclass(eq=False)
class _Sums:
    """Adds up a measure over queries, by layer, as [batch, head]."""

    head_model: HeadModel
    measure: Measure
    counted: dict[str, tuple[Counted | None, Counted | None]]
    totals: dict[Site, OfLayer] = field(default_factory=dict)
    counts: dict[Site, OfLayer] = field(default_factory=dict)

    def add(self, site: Site, attention: Attention, first_query: int) -> None:
        """Counts the queries of a part of a map."""
        queries, keys = self._places(site, attention, first_query)
        of_tokens = attention[..., attention.shape[-1] - keys.shape[-1] :]  # vectors of the head's own come before
        weights = of_tokens.to(torch.promote_types(attention.dtype, torch.float32)) * keys[:, None, None, :]
        numbers, known = self.measure(weights, visible_keys(keys, attention.shape[2], first_query, site.bank))
        known = (known & queries)[:, None, :].expand_as(numbers)  # [batch, head, query]
        total, count = (numbers * known).sum(dim=-1), known.sum(dim=-1).to(numbers.dtype)
        if site in self.totals:
            total, count = self.totals[site] + total, self.counts[site] + count
        self.totals[site], self.counts[site] = total, count

    def _places(self, site: Site, attention: Attention, first_query: int) -> tuple[ValidQueries, Tokens]:
        batch, _, n_queries, n_keys = attention.shape
        queries, keys = self.counted[site.bank]
        if queries is None or keys is None:
            patches = torch.arange(n_keys, device=attention.device) >= n_image_tokens(self.head_model, n_keys)
            queries = keys = patches.expand(batch, -1)
        return queries[:, first_query : first_query + n_queries], keys


def visible_keys(keys: Tokens, n_queries: int, first_query: int, bank: str) -> Visible:
    """How many keys that count each query can see: those up to itself in a decoder, else all."""
    if bank == "decoder":
        return keys.cumsum(dim=-1)[:, first_query : first_query + n_queries]
    return keys.sum(dim=-1, keepdim=True).expand(-1, n_queries)
