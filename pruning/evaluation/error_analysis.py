"""What breaks under a mask: the examples that come out differently, the worst first, and the groups that suffer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headscope.models.head_model import HeadModel
from headscope.pruning.evaluation.example_groups import groups
from headscope.pruning.evaluation.example_results import Answer, Answers, Shown, answers, shown
from headscope.tasks.statistics.intervals import Estimate
from headscope.tasks.statistics.paired_tests import Comparison
from headscope.tasks.task import Outcomes, Task, check_paired

LOST, CHANGED, WON, WORSE, BETTER = "lost", "changed", "won", "worse", "better"
RANKS = {LOST: 0, WORSE: 0, CHANGED: 1, WON: 2, BETTER: 2}
"""Which kind of change comes first."""

ROUNDING = 1e-9
"""Scores that differ by no more than this share of the larger one are the same."""


@dataclass(frozen=True)
class Change:
    """An example that comes out differently under the second mask.

    A choice is lost (right, then wrong), changed (wrong both times) or won; a text or a prediction that has no right
    and wrong is worse or better. `harm` is how far the score went the wrong way.
    """

    index: int
    kind: str
    harm: float
    before: Answer
    after: Answer
    shown: Shown

    def to_json(self) -> dict[str, Any]:
        """Plain values, the example's own among them."""
        return {
            "index": self.index,
            "kind": self.kind,
            "harm": self.harm,
            "before": self.before.said,
            "after": self.after.said,
            "score_before": self.before.score,
            "score_after": self.after.score,
            **asdict(self.shown),
        }


@dataclass(frozen=True)
class Bucket:
    """The headline metric on some of the examples under both masks."""

    family: str
    name: str
    before: Estimate
    after: Estimate
    change: Comparison

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self) | {"n": self.before.n}


@dataclass(frozen=True)
class Breaks:
    """All that changes between two masks; `examples` are the worst, `counts` are of all of them."""

    measure: str
    higher_is_better: bool
    whole: Bucket
    counts: Mapping[str, int]
    examples: tuple[Change, ...]
    buckets: tuple[Bucket, ...]

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "measure": self.measure,
            "higher_is_better": self.higher_is_better,
            "whole": self.whole.to_json(),
            "counts": dict(self.counts),
            "examples": [change.to_json() for change in self.examples],
            "buckets": [bucket.to_json() for bucket in self.buckets],
        }


def what_breaks(task: Task, head_model: HeadModel, first: Outcomes, second: Outcomes, most: int = 50) -> Breaks:
    """What the second mask does to examples that the first had, at most so many of them, and to groups of examples.

    Of choices those that differ are listed, of other answers those whose score differs: lost and worse ones first,
    among them those with the most harm, of equals in the order of the split.
    """
    check_paired(first, second)
    if most < 1:
        raise ValueError(f"{most} examples to list; at least 1 is needed")
    one, other = answers(task, head_model, first), answers(task, head_model, second)
    kinds, harm = _kinds(one, other), _harm(one, other)
    listed = sorted(kinds, key=lambda place: (RANKS[kinds[place]], -harm[place], place))[:most]
    examples = shown(task, head_model, first, listed)
    return Breaks(
        one.measure,
        one.higher_is_better,
        _bucket(task, "all", "all examples", first, second),
        dict(Counter(kinds.values())) | {"same": first.n - len(kinds)},
        tuple(
            Change(int(first.indices[place]), kinds[place], float(harm[place]), one.at(place), other.at(place), example)
            for place, example in zip(listed, examples, strict=True)
        ),
        tuple(buckets(task, head_model, first, second)),
    )


def buckets(task: Task, head_model: HeadModel, first: Outcomes, second: Outcomes) -> Sequence[Bucket]:
    """The headline metric of both masks on every group of examples that the task knows and that has an example."""
    return [
        _bucket(task, family, name, _part(first, members), _part(second, members))
        for family, named in groups(task, head_model, first).items()
        for name, members in named.items()
        if members.any()
    ]


def _harm(one: Answers, other: Answers) -> NDArray[np.float64]:
    fall = one.scores - other.scores
    return fall if one.higher_is_better else -fall


def _kinds(one: Answers, other: Answers) -> dict[int, str]:
    """How each of the examples that come out differently does so, by place."""
    if one.right is None or other.right is None:
        harm = _harm(one, other)
        slack = ROUNDING * np.maximum(np.abs(one.scores), np.abs(other.scores))
        differing = np.flatnonzero(np.abs(harm) > slack)
        return {int(place): WORSE if harm[place] > 0 else BETTER for place in differing}
    differing = np.array(one.said) != np.array(other.said)
    return {
        int(place): LOST if one.right[place] else WON if other.right[place] else CHANGED
        for place in np.flatnonzero(differing | (one.right != other.right))
    }


def _bucket(task: Task, family: str, name: str, first: Outcomes, second: Outcomes) -> Bucket:
    metric = task.metrics[0]
    return Bucket(family, name, metric.estimate(first), metric.estimate(second), metric.compare(first, second))


def _part(outcomes: Outcomes, members: NDArray[np.bool_]) -> Outcomes:
    columns = {name: column[members] for name, column in outcomes.columns.items()}
    return replace(outcomes, indices=outcomes.indices[members], columns=columns)
