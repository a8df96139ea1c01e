"""A pruning curve, point by point: one strategy, and random orders beside it."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, MutableMapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from headscope.models.heads import HeadGrid, HeadId
from headscope.pruning.evaluation.evaluator import Evaluator
from headscope.pruning.evaluation.results import ORDER, Point
from headscope.pruning.masks import HeadMask
from headscope.pruning.search.strategies.random_order import RandomOrder
from headscope.pruning.search.strategy import Ordered, Strategy
from headscope.pruning.search.subject import Subject

LEAST_SEEDS = 5
"""Random orders that a band is made of at least."""

MOST_SEEDS = 1000
LEAST_STEP = 0.0001
"""More orders or points than these would be listed before the first is measured."""

Cache = MutableMapping[str, dict[str, Any]]
"""Points as plain values by mask; whoever judges the same model in the same way may share it."""


@dataclass(frozen=True)
class Progress:
    """How many points of a sweep are done, and the one that was found, if any."""

    done: int
    total: int
    point: Point | None = None


@dataclass(frozen=True)
class Sweep:
    """What is swept: a strategy, the share of heads between two points (0: one head at a time), random orders."""

    strategy: Strategy
    step: float = 0.05
    seeds: int = LEAST_SEEDS

    def __post_init__(self) -> None:
        if self.step and not LEAST_STEP <= self.step <= 1:
            raise ValueError(
                f"steps of {self.step:g} of all heads; 0, one head at a time, and {LEAST_STEP:g} to 1 are allowed"
            )
        if self.seeds > MOST_SEEDS:
            raise ValueError(f"{self.seeds} random orders; at most {MOST_SEEDS} are allowed")
        alone = isinstance(self.strategy, RandomOrder) and self.seeds == 0
        if self.seeds < LEAST_SEEDS and not alone:
            raise ValueError(
                f"{self.seeds} random orders; at least {LEAST_SEEDS} are needed, or 0 beside a strategy that is random"
            )

    def counts(self, subject: Subject) -> tuple[int, ...]:
        """How many heads are removed at every point: 0, then so many more each time, then all that can go."""
        n, most = len(subject.heads), self.strategy.most(subject)
        if not most:
            raise ValueError(f"none of the {n} heads can go under these settings; nothing can be swept")
        shares = range(1, 1 + round(1 / self.step)) if self.step else ()
        counts = {round(share * self.step * n) for share in shares} if self.step else set(range(n))
        return (0, *sorted(count for count in counts if 0 < count < most), most)

    def random_orders(self) -> list[RandomOrder]:
        """The strategies of the band."""
        return [RandomOrder(self.strategy.at_least, seed) for seed in range(self.seeds)]


def sweep(
    evaluator: Evaluator, subject: Subject, plan: Sweep, cache: Cache | None = None, have: Sequence[Point] = ()
) -> Iterator[Progress]:
    """All points in the order in which they are wanted: the unpruned model, the curve, then the random orders in turn.

    In between there is progress without a point, after every batch and wherever a search can be left. `have` are the
    points of an earlier sweep that was stopped, which are not given again. What the cache holds is not measured again,
    and what is measured is put there.
    """
    known: Cache = {} if cache is None else cache
    counts = plan.counts(subject)
    total = len(counts) + plan.seeds * (len(counts) - 1)
    done = len(have)
    yield Progress(done, total)
    for series, mask in _masks(subject, plan, counts, done):
        if mask is None:
            yield Progress(done, total)
            continue
        point = yield from _waited(_measured(evaluator, mask, known), Progress(done, total))
        done += 1
        yield Progress(done, total, replace(point, series=series))


def masks_ahead(subject: Subject, plan: Sweep) -> list[HeadMask]:
    """Masks of a sweep that are known before it begins, in its order: all, or those of the random orders alone."""
    counts = plan.counts(subject)
    skipped = 0 if isinstance(plan.strategy, Ordered) else len(counts)
    found = {str(mask): mask for _, mask in _masks(subject, plan, counts, skipped) if mask is not None}
    return list(found.values())


def removal_order(grid: HeadGrid, strategy: Strategy, subject: Subject, points: Iterable[Point]) -> list[HeadId]:
    """The heads in the order in which they go: as the strategy says, else as they first are missing on the curve."""
    if isinstance(strategy, Ordered):
        return strategy.order(subject)
    found: dict[HeadId, None] = {}
    for point in sorted((point for point in points if point.series == ORDER), key=lambda point: point.removed):
        removed = grid.parse(point.mask)
        found.update(dict.fromkeys(head for head in grid if head in removed))
    return list(found)


def _masks(
    subject: Subject, plan: Sweep, counts: tuple[int, ...], skipped: int
) -> Iterator[tuple[str, HeadMask | None]]:
    """The series and the mask of every point after those that are skipped; no mask wherever a search can be left."""
    if skipped < len(counts):
        passed = 0
        for mask in plan.strategy.search(subject, counts):
            passed += mask is not None
            if mask is None or passed > skipped:
                yield ORDER, mask
    drawn = [list(one.masks(subject, counts[1:])) for one in plan.random_orders()]
    band = [(f"random {seed}", masks[place]) for place in range(len(counts) - 1) for seed, masks in enumerate(drawn)]
    yield from band[max(0, skipped - len(counts)) :]


def _measured(evaluator: Evaluator, mask: HeadMask, cache: Cache) -> Generator[object, None, Point]:
    """The point of a mask, from the cache, or measured now, one step a batch."""
    known = cache.get(str(mask))
    if known is not None:
        return Point.from_json(known)
    point = yield from evaluator.point_steps(mask)
    cache[str(mask)] = point.to_json()
    return point


def _waited(steps: Generator[object, None, Point], progress: Progress) -> Generator[Progress, None, Point]:
    """What the steps return, with the same progress at every one of them."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            found: Point = end.value
            return found
        yield progress
