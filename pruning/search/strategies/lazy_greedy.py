"""Lazy greedy: as greedy, but at every step only the few heads are tried whose last known prices are lowest."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from headscope.models.heads import HeadId
from headscope.pruning.masks import HeadMask
from headscope.pruning.search.strategy import LOSSES, Kept, Strategy, lowest, register, tried
from headscope.pruning.search.subject import Subject

TIMES_FEWER = 8
FOR_FEW_HEADS = 2
"""Trials at a step where an eighth of those of greedy would be less than one."""


@register
@dataclass(frozen=True)
class LazyGreedy(Strategy):
    """The price of a head is c_h(mask) = L(mask + h) - L(mask); of those tried at a step the cheapest goes.

    Minoux 1978 takes old prices for lower bounds, as they are where the loss is supermodular, and tries heads until one
    is cheaper than all bounds. Models are not like that: prices rise and fall, so that bounds hold for nothing and may
    take many trials. Ours is to make an eighth of the n (n + 1) / 2 trials of greedy: all heads once, then equally many
    at every step, and what is left over at the last steps, one more at each, where a wrong head costs most.
    """

    key = "lazy-greedy"
    title = "Lazy greedy"
    reference = "ours, after Minoux 1978"
    about = "Greedy with far fewer trials: at every step only the few heads that were cheapest when last tried."
    needs = (LOSSES,)

    def _search(self, subject: Subject, counts: tuple[int, ...]) -> Iterator[HeadMask | None]:
        mask = subject.unpruned
        may_go = Kept(subject, self.at_least).may_go
        heads = [head for head in subject.heads if may_go(head)] if any(counts) else []
        loss, *losses = yield from tried(subject, [mask, *(mask.prune(head) for head in heads)])
        prices = {head: after - loss for head, after in zip(heads, losses, strict=True)}  # in the order of the grid
        candidates = list(prices)  # whose prices are those of now
        for count in counts:
            while len(mask) < count:
                if not candidates:
                    prices = _possible(prices, Kept(subject, self.at_least, mask))
                    candidates = _cheapest(prices, loss, n_tried(len(heads), len(prices)))
                    losses = yield from tried(subject, [mask.prune(head) for head in candidates])
                    prices |= {head: after - loss for head, after in zip(candidates, losses, strict=True)}
                head = candidates[lowest([prices[one] for one in candidates], loss)]
                mask, loss, candidates = mask.prune(head), loss + prices.pop(head), []
            yield mask


def n_tried(n: int, left: int) -> int:
    """How many of the heads that are left are tried where n were there in the beginning."""
    budget = n * (n + 1) // 2 // TIMES_FEWER - (n + 1)
    if budget < n - 1:
        return FOR_FEW_HEADS
    each, over = divmod(budget, n - 1)
    return each + (left <= over)


def _possible(prices: dict[HeadId, float], kept: Kept) -> dict[HeadId, float]:
    """Without the heads that their layers cannot spare."""
    return {head: price for head, price in prices.items() if kept.may_go(head)}


def _cheapest(prices: dict[HeadId, float], loss: float, n: int) -> list[HeadId]:
    """The n heads of the lowest prices, in the order of the grid; of equal ones the first."""
    left = dict(prices)
    found: list[HeadId] = []
    while left and len(found) < n:
        found.append(list(left)[lowest(list(left.values()), loss)])
        del left[found[-1]]
    return [head for head in prices if head in found]
