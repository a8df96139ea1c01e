"""Ways to choose K heads side by side: each choice with the weights as they were and after training, seed by seed."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from headscope.models.gating import gated
from headscope.models.head_model import HeadModel
from headscope.models.heads import HeadId
from headscope.pruning.masks import HeadMask
from headscope.pruning.surgery import without_heads
from headscope.pruning.training.fine_tuning import FineTuning, reinitialised
from headscope.pruning.training.gate_scheme import scheme_with
from headscope.pruning.training.gate_training import FROZEN, TRAINED, Plan
from headscope.pruning.training.mask_learning import Learning
from headscope.pruning.training.settings import Settings
from headscope.tasks.task import Task

REPORTED_ON = "test"
NEVER = 10**9
"""Judgements in vain that do not end a training: all ways take all steps."""

Scores = Mapping[HeadId, float]
Estimate = dict[str, Any]


@dataclass(frozen=True)
class Contest:
    """What is compared: `keeps` heads stay, for every seed; `steps` of gates and then `finetune` of the smaller model.

    Ways that choose at once train the smaller model for as many steps in all; from scratch it is `scratch`. `subset`
    are settings of subset gates, such as their temperatures.
    """

    keeps: tuple[int, ...]
    seeds: tuple[int, ...] = (0, 1, 2)
    ways: tuple[str, ...] = ("dsp", "l0", "gradient", "random")
    steps: int = 400
    finetune: int = 100
    scratch: int = 2000
    training: Mapping[str, Any] = field(default_factory=dict)
    subset: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        scheme_with(SUBSET, self.subset)
        unknown = [way for way in self.ways if way not in WAYS]
        if unknown:
            raise ValueError(f"no way {unknown[0]!r} to choose heads; known: {', '.join(WAYS)}")
        if not self.keeps or not self.seeds or not self.ways:
            raise ValueError("nothing to compare; at least one number of heads, one seed and one way are needed")

    def settings(self, steps: int, seed: int) -> Settings:
        """How one training goes; the model is judged a few times, and the best weights count."""
        return Settings(
            **{"steps": steps, "seed": seed, "every": max(1, steps // 4), "patience": NEVER} | dict(self.training)
        )

    @property
    def cells(self) -> tuple[tuple[str, int, int], ...]:
        """Everything that is measured: way, heads that stay, seed."""
        return tuple((way, keep, seed) for seed in self.seeds for keep in self.keeps for way in self.ways)


@dataclass(frozen=True)
class Entry:
    """One way, one K, one seed: the headline metric on test with the weights as they were, and after training.

    From scratch there are no weights as they were.
    """

    way: str
    keep: int
    seed: int
    mask: str
    old: Estimate | None
    trained: Estimate

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self)


@dataclass(frozen=True, eq=False)
class Cell:
    """What a way is given."""

    head_model: HeadModel
    task: Task
    contest: Contest
    scores: Scores
    keep: int
    seed: int


Chosen = tuple[HeadMask, HeadModel | None]
"""The heads that go, and the smaller model where training is part of the way."""

Way = Callable[[Cell], Iterator[Chosen | None]]


def compared(
    head_model: HeadModel, task: Task, contest: Contest, scores: Scores, done: Sequence[tuple[str, int, int]] = ()
) -> Iterator[Entry | None]:
    """An entry for every cell that is not done yet; None wherever the work can be left.

    `scores` are those by which the lowest heads go in the way `gradient`. The model that is given stays as it is.
    """
    n_heads = len(head_model.grid) - len(head_model.removed)
    for keep in contest.keeps:
        if not 1 <= keep <= n_heads:
            raise ValueError(f"{keep} heads to keep of {n_heads}; from 1 to {n_heads} are allowed")
    for way, keep, seed in contest.cells:
        if (way, keep, seed) in done:
            continue
        cell = Cell(head_model, task, contest, scores, keep, seed)
        for chosen in WAYS[way](cell):
            if chosen is None:
                yield None
            else:
                mask, smaller = chosen
                yield from _measured(cell, way, mask, smaller)


def _measured(cell: Cell, way: str, mask: HeadMask, smaller: HeadModel | None) -> Iterator[Entry | None]:
    if smaller is None:
        steps = cell.contest.steps + cell.contest.finetune
        tuning = FineTuning(without_heads(cell.head_model, mask), cell.task, cell.contest.settings(steps, cell.seed))
        for _ in tuning.steps():
            yield None
        smaller = tuning.best()
    old = None if way == SCRATCH else _estimate(cell, cell.head_model, mask)
    yield None
    nothing = HeadMask(mask.grid)
    yield Entry(way, cell.keep, cell.seed, str(mask), old, _estimate(cell, smaller, nothing))


def _estimate(cell: Cell, head_model: HeadModel, mask: HeadMask) -> Estimate:
    with gated(head_model, mask.as_gates(head_model.device)):
        outcomes = cell.task.outcomes(head_model, REPORTED_ON)
    return asdict(cell.task.metrics[0].estimate(outcomes))


def _lowest(cell: Cell, order: Sequence[HeadId]) -> HeadMask:
    """All but the last K of an order go."""
    return HeadMask(cell.head_model.grid, frozenset(order[: len(order) - cell.keep]))


def _heads(cell: Cell) -> list[HeadId]:
    return [head for head in cell.head_model.grid if head not in cell.head_model.removed]


def by_scores(cell: Cell) -> Iterator[Chosen | None]:
    """The lowest scores go."""
    yield _lowest(cell, sorted(_heads(cell), key=cell.scores.__getitem__)), None


def by_chance(cell: Cell) -> Iterator[Chosen | None]:
    """Any heads go; which ones depends on the seed."""
    heads = _heads(cell)
    yield _lowest(cell, random.Random(cell.seed).sample(heads, len(heads))), None


def by_gates(key: str, weights: str) -> Way:
    """Gates that learn which heads stay."""

    def way(cell: Cell) -> Iterator[Chosen | None]:
        contest = cell.contest
        training = contest.settings(contest.steps, cell.seed)
        own = contest.subset if key == SUBSET else {}
        plan = Plan(scheme_with(key, {**own, "keep": cell.keep}), training, contest.finetune, weights=weights)
        learning = Learning(cell.head_model, cell.task, plan)
        for _ in learning.steps():
            yield None
        learned = learning.learned()
        yield learned.mask, learned.smaller

    return way


def from_scratch(cell: Cell) -> Iterator[Chosen | None]:
    """The shape that the scores leave, with new weights."""
    (mask, _), *_ = (chosen for chosen in by_scores(cell) if chosen is not None)
    fresh = reinitialised(without_heads(cell.head_model, mask), cell.seed)
    settings = cell.contest.settings(cell.contest.scratch, cell.seed)
    tuning = FineTuning(fresh, cell.task, replace(settings, rate=max(settings.rate, SCRATCH_RATE)))
    for _ in tuning.steps():
        yield None
    yield mask, tuning.best()


SCRATCH, SUBSET = "scratch", "dsp"
SCRATCH_RATE = 1e-3
"""The learning rate of new weights, unless a higher one is set: that of the specimens' own training."""

WAYS: dict[str, Way] = {
    "dsp": by_gates(SUBSET, TRAINED),
    "dsp-frozen": by_gates(SUBSET, FROZEN),
    "l0": by_gates("l0", TRAINED),
    "gradient": by_scores,
    "random": by_chance,
    SCRATCH: from_scratch,
}
