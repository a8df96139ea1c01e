"""Lazy greedy: as greedy, but a head is tried again only when its last known price is the lowest of all."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from pruning.mask import HeadMask
from pruning.strategies.strategy import LOSSES, Kept, Strategy, lowest, register, tried
from pruning.strategies.subject import Subject


@register
@dataclass(frozen=True)
class LazyGreedy(Strategy):
    """The accelerated greedy search of Minoux 1978 for the price of a head, c_h(mask) = L(mask + h) - L(mask).

    Old prices are taken for lower bounds, as they are where the loss is supermodular. That is not so for every model:
    where a price has fallen since, greedy would have seen it and this does not.
    """

    key = "lazy-greedy"
    title = "Lazy greedy"
    reference = "Minoux 1978"
    about = "Greedy with far fewer trials: a head is tried again only when it was the cheapest when last tried."
    needs = (LOSSES,)

    def _search(self, subject: Subject, counts: tuple[int, ...]) -> Iterator[HeadMask | None]:
        mask = subject.unpruned
        may_go = Kept(subject, self.at_least).may_go
        heads = [head for head in subject.heads if may_go(head)] if any(counts) else []
        loss, *losses = yield from tried(subject, [mask, *(mask.prune(head) for head in heads)])
        known = dict(zip(heads, losses, strict=True))  # the losses after the removal from the mask of now
        prices = {head: known[head] - loss for head in heads}  # in the order of the grid
        for count in counts:
            while len(mask) < count:
                head = list(prices)[lowest(list(prices.values()), loss)]  # the first of equals
                if not Kept(subject, self.at_least, mask).may_go(head):
                    del prices[head]
                elif head in known:
                    mask, loss, known = mask.prune(head), known[head], {}
                    del prices[head]
                else:
                    (known[head],) = yield from tried(subject, [mask.prune(head)])
                    prices[head] = known[head] - loss
            yield mask
