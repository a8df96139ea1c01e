"""Finds the heads that must go for budgets, along an order of heads, and tells what that costs."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from headscope.models.head_model import HeadModel
from headscope.models.inputs import lengths_for
from headscope.pruning.evaluation.results import Point
from headscope.pruning.evaluation.speed import Race, Timing
from headscope.pruning.masks import HeadMask
from headscope.pruning.search.budget_candidates import Candidates, Chosen
from headscope.pruning.search.budgets import AtMost, Budget, Faster, Within

MOST_TIMINGS = 4
"""Masks that are timed before the best of them is taken."""

MOST_MISSES = 8
"""Heads in a row that quality cannot do without, after which no others are tried."""

CLOSE = 1.05
"""A smaller model that is faster than asked by no more than this has lost no head too many."""

LOSS = "loss"
ROUNDING = 1e-9
T = TypeVar("T")
Timer = Callable[[HeadMask, Faster], Generator[object, None, Timing]]
"""How fast the smaller model is, for example `timer_of(head_model)`."""


@dataclass(frozen=True)
class Judge:
    """How good the model is under a mask, step by step, for example `Evaluator.point_steps`."""

    point_steps: Callable[[HeadMask], Generator[object, None, Point]]
    higher_is_better: bool


@dataclass(frozen=True)
class Trial:
    """A mask that was judged, or timed for a budget, and whether it keeps what this tells about."""

    mask: HeadMask
    fits: bool
    point: Point | None = None
    timing: Timing | None = None
    budget: Faster | None = None


@dataclass(frozen=True)
class Found:
    """The mask for the budgets, or the nearest to it, how good and how fast the model then is, and a sentence."""

    mask: HeadMask
    met: bool
    sentence: str
    point: Point | None
    timings: tuple[Timing, ...]


Steps = Generator[Trial | None, None, T]
"""Trials as they are made, and None now and then between, so that whoever loses interest can stop."""


def timer_of(head_model: HeadModel) -> Timer:
    """Times the really smaller model beside the model."""

    def time(mask: HeadMask, budget: Faster) -> Generator[object, None, Timing]:
        race = Race.of(head_model, mask, [budget.batch], [budget.length])
        return (yield from race.timing(*race.sizes[0]))

    return time


class Search:
    """One search for the mask of some budgets.

    Size and speed are reached by removing as few heads as possible from the front of the order. Quality alone is used
    up: as many heads go as it allows from the front of the order, and then every later one that does no harm. Where
    both are asked for and the first heads cost too much, those that quality cannot do without are passed over.
    """

    def __init__(
        self,
        candidates: Candidates,
        budgets: Sequence[Budget],
        timer: Timer,
        judge: Judge | None,
        known: Sequence[Trial],
    ) -> None:
        """`judge` is needed for quality, and tells of other budgets what they cost; `known` is not tried again."""
        self.candidates = candidates
        self.timer, self.judge = timer, judge
        self.quality = [budget for budget in budgets if isinstance(budget, Within)]
        self.speed = [budget for budget in budgets if isinstance(budget, Faster)]
        self.sizes = [budget for budget in budgets if isinstance(budget, AtMost)]
        self._points = {trial.mask.removed: trial.point for trial in known if trial.point is not None}
        self._timings = {
            (trial.mask.removed, trial.budget): trial.timing
            for trial in known
            if trial.budget is not None and trial.timing is not None
        }
        self._gain: dict[Faster, float] = {}

    def steps(self) -> Steps[Found]:
        """Searches."""
        if self.quality:
            self._check_metric((yield from self._judged(())))
        if not self.speed and not self.sizes:
            return (yield from self._told((yield from self._as_many_as_quality_allows()), True))
        chosen, reached = yield from self._as_few_as_reach()
        if reached and not (yield from self._keeps(chosen)):
            chosen = yield from self._as_many_as_quality_allows()
            reached = yield from self._is_reached(chosen)
        return (yield from self._told(chosen, reached))

    # size and speed

    def _is_small(self, chosen: Chosen) -> bool:
        return all(self.candidates.left(size.what, chosen) <= size.share for size in self.sizes)

    def _seems_fast(self, chosen: Chosen) -> bool:
        """Whether operations predict it, corrected by how the last measurement compared with its prediction."""
        return all(
            self.candidates.predicted(speed.length, chosen) * self._gain.get(speed, 1.0) >= speed.times
            for speed in self.speed
        )

    def _is_fast(self, chosen: Chosen) -> Steps[bool]:
        """Whether measurements show it."""
        mask, fast = self.candidates.mask(chosen), True
        for speed in self.speed:
            if (mask.removed, speed) not in self._timings:
                timing = yield from _quietly(self.timer(mask, speed))
                self._timings[mask.removed, speed] = timing
                yield Trial(mask, timing.speedup.median >= speed.times, timing=timing, budget=speed)
            measured = self._timings[mask.removed, speed].speedup.median
            self._gain[speed] = measured / self.candidates.predicted(speed.length, chosen)
            fast = fast and measured >= speed.times
        return fast

    def _is_reached(self, chosen: Chosen) -> Steps[bool]:
        seems = bool(self.sizes or self.speed) and self._is_small(chosen) and self._seems_fast(chosen)
        return seems and (yield from self._is_fast(chosen))

    def _as_few_as_reach(self) -> Steps[tuple[Chosen, bool]]:
        """The fewest units by prediction, then timed; what was measured corrects the prediction for the next try."""
        everything = self.candidates.all
        if not self._is_small(everything):
            return everything, False
        fitting: list[Chosen] = []
        tried: list[Chosen] = []
        while len(tried) < MOST_TIMINGS:
            chosen = self.candidates.smallest(lambda some: self._is_small(some) and self._seems_fast(some))
            chosen = everything if chosen is None else chosen
            if chosen in tried:
                break
            tried.append(chosen)
            if (yield from self._is_fast(chosen)):
                fitting.append(chosen)
                if not self.speed or self._is_close(chosen):
                    break
        if not fitting and everything not in tried and (yield from self._is_fast(everything)):
            fitting.append(everything)
        return min(fitting, key=len, default=everything), bool(fitting)

    def _is_close(self, chosen: Chosen) -> bool:
        """Whether the model is hardly faster than asked, so that fewer heads would not do."""
        removed = self.candidates.mask(chosen).removed
        return any(self._timings[removed, speed].speedup.median < CLOSE * speed.times for speed in self.speed)

    # quality

    def _check_metric(self, unpruned: Point) -> None:
        for budget in self.quality:
            if budget.metric != LOSS and not budget.names(unpruned.metric):
                raise ValueError(
                    f"the budget {str(budget)!r}; this model is judged by {unpruned.metric}, or by its loss"
                )

    def _judged(self, chosen: Chosen) -> Steps[Point]:
        mask = self.candidates.mask(chosen)
        if mask.removed not in self._points:
            if self.judge is None:
                raise ValueError(f"the budget {str(self.quality[0])!r} needs a task by which the model is judged")
            self._points[mask.removed] = yield from _quietly(self.judge.point_steps(mask))
            yield Trial(mask, self._is_good(self._points[mask.removed]), point=self._points[mask.removed])
        return self._points[mask.removed]

    def _is_good(self, point: Point) -> bool:
        unpruned, higher = self._points.get(frozenset(), point), self.judge is None or self.judge.higher_is_better
        return all(_room(budget, unpruned, point, higher) >= -ROUNDING for budget in self.quality)

    def _keeps(self, chosen: Chosen) -> Steps[bool]:
        return not self.quality or self._is_good((yield from self._judged(chosen)))

    def _as_many_as_quality_allows(self) -> Steps[Chosen]:
        """A front of the order, found by halving; then later units one by one, until other budgets are reached."""
        everything = self.candidates.all
        low, high = 0, len(everything) + 1
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if (yield from self._keeps(everything[:middle])) else (low, middle)
        chosen, misses = everything[:low], 0
        for unit in everything[low:]:
            if misses == MOST_MISSES or (yield from self._is_reached(chosen)):
                break
            good = yield from self._keeps((*chosen, unit))
            chosen, misses = ((*chosen, unit), 0) if good else (chosen, misses + 1)
        return chosen

    # what is said

    def _told(self, chosen: Chosen, met: bool) -> Steps[Found]:
        """The answer, judged where there is a judge."""
        mask = self.candidates.mask(chosen)
        points = []
        if self.judge is not None:
            points = [(yield from self._judged(())), (yield from self._judged(chosen))]
        timings = [self._timings.get((mask.removed, speed)) for speed in self.speed]
        begin = "" if met else self._failure(chosen)
        n_heads = len(self.candidates.head_model.grid) - len(self.candidates.head_model.removed)
        sentence = f"{begin}{len(mask)} of {n_heads} heads removed, {', '.join(self._facts(chosen, points))}."
        timed = tuple(timing for timing in timings if timing is not None)
        return Found(mask, met, sentence, points[1] if points else None, timed)

    def _failure(self, chosen: Chosen) -> str:
        """Why this is not what was asked: it cannot be, or the order of heads does not lead to it."""
        asked = "; ".join(str(budget) for budget in (*self.sizes, *self.speed))
        if chosen == self.candidates.all:
            return f"Not possible: {asked}. The most that can be had is "
        kept = "; ".join(str(budget) for budget in self.quality)
        return f"Not found along this order of heads: {asked} with {kept}. The nearest is "

    def _facts(self, chosen: Chosen, points: Sequence[Point]) -> list[str]:
        """What the mask costs and saves, as phrases."""
        facts = [f"{points[1].metric} {points[1].value:.4g} instead of {points[0].value:.4g}"] if points else []
        if any(budget.metric == LOSS for budget in self.quality):
            facts.append(f"loss {points[1].loss:.4g} instead of {points[0].loss:.4g}")
        facts += [f"{100 * self.candidates.left(size.what, chosen):.3g} % of {size.what} left" for size in self.sizes]
        for speed in self.speed:
            timing = self._timings.get((self.candidates.mask(chosen).removed, speed))
            predicted = self.candidates.predicted(speed.length, chosen)
            told = f"{timing.speedup.median:.2f}" if timing else f"by prediction {predicted:.2f}"
            (length,) = lengths_for(self.candidates.head_model.model, [speed.length])
            long = "" if length is None else f" and length {length}"
            facts.append(f"{told} times faster at batch {speed.batch}{long}")
        return facts


def _room(budget: Within, unpruned: Point, point: Point, higher_is_better: bool) -> float:
    """How much better the value is than the worst that the budget allows; below zero it is too bad."""
    if budget.metric == LOSS:
        return budget.limit(unpruned.loss, LOSS, False) - point.loss
    worst = budget.limit(unpruned.value, unpruned.metric, higher_is_better)
    return point.value - worst if higher_is_better else worst - point.value


def _quietly(steps: Generator[object, None, T]) -> Steps[T]:
    """The same work, whose steps tell nothing."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            found: T = end.value
            return found
        yield None
