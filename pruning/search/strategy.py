"""What a strategy is: a frozen declaration that gives, for every count, a mask of exactly that many heads.

A strategy registers itself in the file that defines it; runs, commands and contract tests go through the registry.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from itertools import chain, pairwise
from typing import Any, ClassVar, Literal, get_args

from headscope.models.heads import HeadId
from headscope.models.registry import Registry
from headscope.pruning.masks import HeadMask
from headscope.pruning.search.subject import Scores, Subject, layer_of

SCORES, LOSSES, GRADIENTS, ROLES = "scores", "losses", "gradients", "roles"
"""What a strategy may need of its subject."""

TRIED_AT_ONCE = 16
"""Masks between two places at which a search can be left."""

EQUAL_LOSSES = 1e-5
"""Losses that differ by less, as a share of the larger of 1 and the loss, count as equal: rounding depends on which
masks share a pass, and so on what was known before, and must not decide which head goes."""

Scope = Literal["global", "layer", "bank"]


@dataclass(frozen=True)
class Strategy(ABC):
    """A way to choose heads. Subclasses are frozen dataclasses whose fields are their options.

    `about` says in one sentence what it does, `reference` names the paper or says "ours", `needs` what it asks its
    subject for. Equal heads go in the order of the grid.
    """

    key: ClassVar[str]
    title: ClassVar[str]
    reference: ClassVar[str]
    about: ClassVar[str]
    needs: ClassVar[tuple[str, ...]] = ()

    at_least: int = field(default=0, metadata={"about": "Heads that every layer keeps, if it has as many."})

    def __post_init__(self) -> None:
        if self.at_least < 0:
            raise ValueError(f"at least {self.at_least} heads in every layer; 0 or more are allowed")

    def masks(self, subject: Subject, counts: Sequence[int]) -> Iterator[HeadMask]:
        """For each of the ascending counts a mask with exactly so many heads removed."""
        return (mask for mask in self.search(subject, counts) if mask is not None)

    def search(self, subject: Subject, counts: Sequence[int]) -> Iterator[HeadMask | None]:
        """The same, with None wherever a long search can be left."""
        check_counts(counts, self.most(subject))
        scoring = subject.scoring(subject.unpruned) if SCORES in self.needs and counts else ()
        return chain(scoring, self._search(subject, tuple(counts)))

    def most(self, subject: Subject) -> int:
        """How many heads can go at most."""
        return len(list(Kept(subject, self.at_least).allowed(subject.heads)))

    @abstractmethod
    def _search(self, subject: Subject, counts: tuple[int, ...]) -> Iterator[HeadMask | None]:
        """The masks for counts that are possible."""


@dataclass(frozen=True)
class Ordered(Strategy):
    """A strategy that knows from the start in which order heads go."""

    @abstractmethod
    def order(self, subject: Subject) -> list[HeadId]:
        """The heads that can go, the first to go first."""

    def _search(self, subject: Subject, counts: tuple[int, ...]) -> Iterator[HeadMask | None]:
        order = self.order(subject)
        for count in counts:
            yield HeadMask(subject.grid, frozenset(order[:count]))


@dataclass(frozen=True)
class Scoped(Strategy):
    """A strategy by score that lets all heads compete, or those of a layer or a bank."""

    scope: Scope = field(
        default="global", metadata={"about": "Global: all heads compete; layer or bank: each loses the same share."}
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.scope not in get_args(Scope):
            raise ValueError(f"the scope {self.scope!r}; allowed: {', '.join(get_args(Scope))}")


class Kept:
    """How many heads every layer still has, so that none falls below `at_least`."""

    def __init__(self, subject: Subject, at_least: int, mask: HeadMask | None = None) -> None:
        self.at_least = at_least
        self.left = subject.n_heads()
        if mask is not None:
            self.left -= Counter(layer_of(head) for head in mask.removed)

    def allowed(self, heads: Iterable[HeadId]) -> Iterator[HeadId]:
        """Those that can go one after the other in this order; the others are passed over."""
        for head in heads:
            if self.may_go(head):
                self.left[layer_of(head)] -= 1
                yield head

    def may_go(self, head: HeadId) -> bool:
        """Whether the head can go now."""
        return self.left[layer_of(head)] > self.at_least


def by_score(heads: Iterable[HeadId], scores: Scores, scope: Scope, kept: Kept) -> list[HeadId]:
    """Those of the heads, given in the order of the grid, that can go, by ascending score.

    Groups of the scope lose the same share: in one of n heads the r-th goes at r / n. Where shares are equal, the lower
    score goes first, then the head that comes first.
    """
    groups: dict[object, list[HeadId]] = {}
    for head in heads:
        groups.setdefault(_group(head, scope), []).append(head)
    placed = [
        ((rank + 1) / len(group), scores[head], head)
        for group in groups.values()
        for rank, head in enumerate(kept.allowed(sorted(group, key=checked(scores).__getitem__)))
    ]
    positions = {head: place for place, head in enumerate(head for group in groups.values() for head in group)}
    return [head for *_, head in sorted(placed, key=lambda one: (one[0], one[1], positions[one[2]]))]


def checked(scores: Scores) -> Scores:
    """The same scores; a ValueError if one is not a number."""
    for head, score in scores.items():
        if math.isnan(score):
            raise ValueError(f"the score of {head} is not a number; heads are ordered by numbers")
    return scores


def tried(subject: Subject, masks: Sequence[HeadMask]) -> Generator[None, None, list[float]]:
    """The losses under the masks, some at a time."""
    losses: list[float] = []
    for start in range(0, len(masks), TRIED_AT_ONCE):
        losses += subject.losses(masks[start : start + TRIED_AT_ONCE])
        yield
    return losses


def lowest(numbers: Sequence[float], scale: float = 1.0) -> int:
    """The place of the first number that is as low as the lowest, but for EQUAL_LOSSES of the scale, 1 at least."""
    limit = min(numbers) + EQUAL_LOSSES * max(1.0, abs(scale))
    return next((place for place, number in enumerate(numbers) if number <= limit), 0)


def check_counts(counts: Sequence[int], most: int) -> None:
    """Raise a ValueError in one sentence unless the counts ascend and all are possible."""
    if any(first > second for first, second in pairwise(counts)):
        raise ValueError(f"{' '.join(map(str, counts))} heads to remove; the counts must ascend")
    if counts and not 0 <= counts[0] <= counts[-1] <= most:
        wrong = counts[0] if counts[0] < 0 else counts[-1]
        raise ValueError(f"{wrong} heads to remove; from 0 to {most} of this model can go under these settings")


def _group(head: HeadId, scope: Scope) -> object:
    return {"global": None, "bank": head.bank, "layer": layer_of(head)}[scope]


_STRATEGIES = Registry[Strategy]("strategy", "headscope.pruning.search.strategies")
register, strategies, strategy_of = _STRATEGIES.register, _STRATEGIES.all, _STRATEGIES.get


def strategy_with(key: str, settings: Mapping[str, Any]) -> Strategy:
    """The strategy of that key with these options set."""
    kind = strategy_of(key)
    known = {one.name: one.default for one in fields(kind)}
    for name, value in settings.items():
        if name not in known:
            raise ValueError(f"no setting {name!r} of the strategy {key}; it has: {', '.join(known)}")
        if type(value) is not type(known[name]):
            raise ValueError(f"{name}={value!r}; a value such as {known[name]!r} is needed")
    return kind(**settings)
