"""One-shot: heads are scored once and go by ascending score."""

from __future__ import annotations

from dataclasses import dataclass

from headscope.models.heads import HeadId
from headscope.pruning.search.strategy import SCORES, Kept, Ordered, Scoped, by_score, register
from headscope.pruning.search.subject import Subject


@register
@dataclass(frozen=True)
class ByScore(Scoped, Ordered):
    """The pruning of Michel et al. 2019 as their scripts run it: the scores of the unpruned model give the order."""

    key = "score"
    title = "By score"
    reference = "Michel et al. 2019"
    about = "Scores the heads once; those that matter least go first."
    needs = (SCORES,)

    def order(self, subject: Subject) -> list[HeadId]:
        """By ascending score."""
        scores = subject.scores(subject.unpruned)
        return by_score(subject.heads, scores, self.scope, Kept(subject, self.at_least))
