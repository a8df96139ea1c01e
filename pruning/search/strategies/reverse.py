"""The opposite control: the heads that matter most go first."""

from __future__ import annotations

from dataclasses import dataclass

from headscope.models.heads import HeadId
from headscope.pruning.search.strategy import SCORES, Kept, Ordered, Scoped, by_score, register
from headscope.pruning.search.subject import Subject


@register
@dataclass(frozen=True)
class Reverse(Scoped, Ordered):
    """By descending score: if that is no worse than the other way round, the scores say nothing."""

    key = "reverse"
    title = "Reverse"
    reference = "Michel et al. 2019"
    about = "Scores the heads once; those that matter most go first, which should hurt more than chance."
    needs = (SCORES,)

    def order(self, subject: Subject) -> list[HeadId]:
        """By descending score."""
        scores = {head: -score for head, score in subject.scores(subject.unpruned).items()}
        return by_score(subject.heads, scores, self.scope, Kept(subject, self.at_least))
