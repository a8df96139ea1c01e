"""Iterative: heads are scored anew before every step, for what a head is worth depends on which others are there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from headscope.pruning.masks import HeadMask
from headscope.pruning.search.strategy import SCORES, Kept, Scoped, by_score, register
from headscope.pruning.search.subject import Subject


@register
@dataclass(frozen=True)
class Iterative(Scoped):
    """The exact pruning of the code of Michel et al. 2019: at every count the scores are those of what is left."""

    key = "iterative"
    title = "Iterative"
    reference = "Michel et al. 2019, with exact pruning"
    about = "Scores what is left anew before every step; those that matter least go first."
    needs = (SCORES,)

    def _search(self, subject: Subject, counts: tuple[int, ...]) -> Iterator[HeadMask | None]:
        mask = subject.unpruned
        for count in counts:
            if count > len(mask):
                yield from subject.scoring(mask)
                left = [head for head in subject.heads if head not in mask]
                ranked = by_score(left, subject.scores(mask), self.scope, Kept(subject, self.at_least, mask))
                mask = mask.prune(*ranked[: count - len(mask)])
            yield mask
