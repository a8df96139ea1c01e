"""Greedy: at every step the head whose removal leaves the lowest loss, found by trying them all."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from headscope.pruning.masks import HeadMask
from headscope.pruning.search.strategy import LOSSES, Kept, Strategy, lowest, register, tried
from headscope.pruning.search.subject import Subject


@register
@dataclass(frozen=True)
class Greedy(Strategy):
    """h = argmin L(mask + h), again and again: of n heads it takes n (n + 1) / 2 evaluations to remove all."""

    key = "greedy"
    title = "Greedy"
    reference = "ours"
    about = "Removes, again and again, the head without which the loss is lowest, having tried each."
    needs = (LOSSES,)

    def _search(self, subject: Subject, counts: tuple[int, ...]) -> Iterator[HeadMask | None]:
        mask = subject.unpruned
        for count in counts:
            while len(mask) < count:
                kept = Kept(subject, self.at_least, mask)
                masks = [mask.prune(head) for head in subject.heads if head not in mask and kept.may_go(head)]
                losses = yield from tried(subject, masks)
                mask = masks[lowest(losses, min(losses))]  # the first of equals
            yield mask
