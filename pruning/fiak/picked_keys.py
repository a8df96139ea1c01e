"""Which keys some queries need, as indices to gather by."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Int
from torch import Tensor

BLOCK = 64
"""Queries that share a set of keys, where that leaves out enough."""

BLOCKS_WORTH = 0.8
"""The largest share of the scores that blocks may compute: gathering keys for each of them costs about the rest."""

Open = Bool[Tensor, "head query key"]


@dataclass(frozen=True, eq=False)
class Picked:
    """The keys that are computed for some queries: the same for all heads, [key], or for every key head its own.

    Key heads that need fewer keys than others have fillers, none of whose scores is `open`. `open` is None where all
    scores of the picked keys are kept, as far as the model's own mask leaves them. `everything` says that no key is
    left out.
    """

    index: Int[Tensor, "*key_heads key"]
    open: Open | None
    everything: bool = False

    @property
    def n(self) -> int:
        """How many keys a query has, fillers included."""
        return self.index.shape[-1]

    def of_keys(self, values: Tensor) -> Tensor:
        """These of the keys in [batch, key head, key, d_head]."""
        if self.everything:
            return values
        if self.index.dim() == 1:
            return values.index_select(2, self.index)
        return values.gather(2, self.index[None, :, :, None].expand(values.shape[0], -1, -1, values.shape[3]))

    def of_scores(self, scores: Tensor, groups: Sequence[int]) -> Tensor:
        """These of the keys in [batch or 1, head or 1, query or 1, key]."""
        if self.everything:
            return scores
        if self.index.dim() == 1:
            return scores.index_select(3, self.index)
        index = self.index[list(groups)][None, :, None]
        sizes = (scores.shape[0], len(groups), scores.shape[2])
        return scores.expand(*sizes, -1).gather(3, index.expand(*sizes, -1))


def picked(scores: Open, visible: Bool[Tensor, "query key"], groups: Sequence[int], front: int) -> Picked:
    """The keys that any of these queries needs; `groups` numbers for every head the key head that it reads.

    The `front` keys before those of the tokens are always needed.
    """
    needed = torch.stack([_any_of(scores, groups, group) for group in range(max(groups) + 1)])  # [key head, key]
    if bool(needed.all()):
        every = torch.arange(front + scores.shape[2], device=scores.device)
        return Picked(every, _opened(scores, visible.expand_as(scores), front), everything=True)
    if bool((needed == needed[:1]).all()):
        index = needed[0].nonzero().flatten()
        open_, own = scores[:, :, index], visible[:, index].expand(scores.shape[0], -1, -1)
    else:
        most = int(needed.sum(1).max())
        index = torch.argsort(~needed, dim=1, stable=True)[:, :most]  # the needed keys first, in order, then fillers
        columns = index[list(groups), None].expand(-1, scores.shape[1], -1)  # [head, query, key]
        open_ = scores.gather(2, columns)
        own = visible.expand(scores.shape[0], -1, -1).gather(2, columns)
    return Picked(_behind(front, index), _opened(open_, own, front))


def blocks(scores: Open, visible: Bool[Tensor, "query key"], front: int, alone: Picked) -> list[tuple[slice, Picked]]:
    """Queries in blocks, each with the keys that any head needs of it; none where that computes hardly less."""
    n, shared = scores.shape[1], [0] * scores.shape[0]
    if n < 2 * BLOCK:
        return []
    rows = [slice(first, min(first + BLOCK, n)) for first in range(0, n, BLOCK)]
    parts = [(part, picked(scores[:, part], visible[part], shared, front)) for part in rows]
    computed = sum((part.stop - part.start) * keys.n for part, keys in parts)
    return parts if computed <= BLOCKS_WORTH * n * alone.n else []


def _opened(open_: Open, own: Open, front: int) -> Bool[Tensor, "head query more"] | None:
    """What is open of the front keys and these; None where all is open that the model's own mask leaves."""
    if torch.equal(open_, own):
        return None
    return torch.nn.functional.pad(open_, (front, 0), value=True) if front else open_


def _any_of(scores: Open, groups: Sequence[int], group: int) -> Bool[Tensor, " key"]:
    return scores[[head for head, own in enumerate(groups) if own == group]].any(dim=0).any(dim=0)


def _behind(front: int, index: Int[Tensor, "*key_heads key"]) -> Int[Tensor, "*key_heads more"]:
    before = torch.arange(front, device=index.device).expand(*index.shape[:-1], front)
    return torch.cat([before, index + front], dim=-1)
