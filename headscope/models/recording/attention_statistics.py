"""What attention maps say about heads, as sums over queries that add up map by map."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.nn.functional import pad

from headscope.models.devices import widest
from headscope.models.heads import HeadId
from headscope.models.sites import Site

Attention = Float[Tensor, "batch head query key"]
ValidQueries = Bool[Tensor, "batch query"]
ValidKeys = Bool[Tensor, "batch key"]
AttentionMap = Float[Tensor, "head query key"]
PerQuery = Float[Tensor, "batch head query"]
Count = Float[Tensor, ""]
PerHead = Float[Tensor, " head"]
PerOffset = Float[Tensor, "head offset"]
WiderPerOffset = Float[Tensor, "head wider"]


@dataclass(frozen=True, slots=True)
class HeadStatistics:
    """Averages over the queries of one head.

    `confidence` is the mean of the largest weight, `entropy` the mean entropy in nats. `mass[i]` is the mean weight at
    `offsets[i]`, the position of the key minus that of the query; all of it sums to 1 minus the weight on keys that
    were left out. `argmax[i]` is the share of queries whose largest weight is there.
    """

    n_queries: int
    confidence: float
    entropy: float
    mass: tuple[float, ...]
    argmax: tuple[float, ...]

    @property
    def offsets(self) -> range:
        """The offsets that `mass` and `argmax` count."""
        radius = len(self.mass) // 2
        return range(-radius, radius + 1)


class AttentionSummary:
    """Adds up the maps of many layers on the device where they are; only `statistics` reads anything back."""

    def __init__(self) -> None:
        self._sums: dict[tuple[HeadId, ...], QuerySums] = {}

    def add(self, site: Site, sums: QuerySums) -> None:
        """Counts some more queries of one layer."""
        heads = tuple(HeadId(site.bank, site.layer, head) for head in site.kept)
        self._sums[heads] = self._sums[heads] + sums if heads in self._sums else sums

    def statistics(self) -> dict[HeadId, HeadStatistics]:
        """The averages of every head that was seen."""
        return {
            head: statistics
            for heads, sums in self._sums.items()
            for head, statistics in zip(heads, sums.averages(), strict=True)
        }


@dataclass(frozen=True, eq=False)
class QuerySums:
    """Sums over queries, a row a head; columns of `mass` and `argmax` are the offsets from -radius to radius."""

    n_queries: Count
    maximum: PerHead
    entropy: PerHead
    mass: PerOffset
    argmax: PerOffset

    @property
    def radius(self) -> int:
        """The largest offset that is counted."""
        return self.mass.shape[1] // 2

    def __add__(self, other: QuerySums) -> QuerySums:
        radius = max(self.radius, other.radius)
        return QuerySums(
            self.n_queries + other.n_queries,
            self.maximum + other.maximum,
            self.entropy + other.entropy,
            _widened(self.mass, radius) + _widened(other.mass, radius),
            _widened(self.argmax, radius) + _widened(other.argmax, radius),
        )

    def averages(self) -> list[HeadStatistics]:
        """The statistics of each head."""
        n_queries = int(self.n_queries)
        if n_queries == 0:
            raise ValueError("no query to average over; at least one token must be neither padding nor excluded")
        columns = (self.maximum, self.entropy, self.mass, self.argmax)
        rows = zip(*((column / n_queries).tolist() for column in columns), strict=True)
        return [
            HeadStatistics(n_queries, maximum, entropy, tuple(mass), tuple(argmax))
            for maximum, entropy, mass, argmax in rows
        ]


def query_sums(
    attention: Attention, valid_queries: ValidQueries | None, valid_keys: ValidKeys | None, first_query: int = 0
) -> QuerySums:
    """The sums over the valid queries of one map, or of the rows of a map that begin at `first_query`.

    With S the weight of a query on valid keys: its maximum is max_k a_k and is not divided by S (Voita et al. 2019
    leave out the end-of-sentence column just so); its entropy is that of a_k / S. A query without any valid key is not
    counted, one with S = 0 has no argmax. Masks of None mean that all positions are valid.
    """
    batch, _, n_queries, n_keys = attention.shape
    if valid_queries is None:
        valid_queries = attention.new_ones(batch, n_queries, dtype=torch.bool)
    if valid_keys is None:
        valid_keys = attention.new_ones(batch, n_keys, dtype=torch.bool)
    pairs = valid_queries[:, None, :, None] & valid_keys[:, None, None, :]  # [batch, 1, query, key]
    weights = attention.to(torch.promote_types(attention.dtype, torch.float32)) * pairs
    maximum, argmax = weights.max(dim=-1)  # [batch, head, query]
    radius = max(first_query + n_queries, n_keys) - 1
    precise = widest(attention.device)
    return QuerySums(
        pairs.any(dim=-1).sum(dtype=precise),
        maximum.sum(dim=(0, 2), dtype=precise),
        entropies(weights).sum(dim=(0, 2), dtype=precise),
        offset_mass(weights, first_query, radius),
        _argmax_counts(argmax, maximum > 0, first_query, radius),
    )


def entropies(weights: Attention) -> PerQuery:
    """Entropy in nats of each query's weights after division by their sum S: log S - sum_k a_k log a_k / S."""
    total = weights.sum(dim=-1)
    spread = -torch.special.xlogy(weights, weights).sum(dim=-1)
    some = torch.where(total > 0, total, torch.ones_like(total))
    entropy: PerQuery = some.log() + spread / some
    return entropy.clamp(min=0)  # rounding may leave a little less than 0


def offset_mass(weights: Attention, first_query: int, radius: int) -> PerOffset:
    """Weight summed along each diagonal, the offsets from -radius to radius."""
    n_queries, n_keys = weights.shape[-2:]
    diagonals = diagonal_sums(weights.sum(dim=0, dtype=widest(weights.device)))
    lowest, highest = -(first_query + n_queries - 1), n_keys - 1 - first_query
    return pad(diagonals, (lowest + radius, radius - highest))


def diagonal_sums(weights: AttentionMap) -> PerOffset:
    """Sums over the diagonals of each matrix, key - query from -(n_queries - 1) to n_keys - 1.

    Rows in reverse order, each followed by as many zeros as there are rows: read again with rows that are one shorter,
    they are skewed so that every diagonal is a column.
    """
    n_heads, n_queries, n_keys = weights.shape
    n_offsets = n_queries + n_keys - 1
    padded = pad(weights.flip(-2), (0, n_queries)).flatten(-2)
    return padded[:, : n_queries * n_offsets].reshape(n_heads, n_queries, n_offsets).sum(dim=1)


def _argmax_counts(argmax: Tensor, counted: Tensor, first_query: int, radius: int) -> PerOffset:
    n_heads, n_queries = argmax.shape[1:]
    queries = torch.arange(first_query, first_query + n_queries, device=argmax.device)
    columns = (argmax - queries + radius).transpose(0, 1).flatten(1)  # [head, batch * query]
    counts = torch.zeros(n_heads, 2 * radius + 1, dtype=widest(argmax.device), device=argmax.device)
    return counts.scatter_add_(1, columns, counted.transpose(0, 1).flatten(1).to(counts.dtype))


def _widened(sums: PerOffset, radius: int) -> WiderPerOffset:
    more = radius - sums.shape[1] // 2
    return pad(sums, (more, more))
