"""How importance and prunability grow while a model is trained, over its checkpoints; the records need no torch."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headscope.models.heads import HeadId
from headscope.pruning.masks import HeadMask

if TYPE_CHECKING:
    from headscope.models.head_model import HeadModel
    from headscope.tasks.task import Task

SHARES = tuple(tenth / 10 for tenth in range(10))
"""The shares of all heads that are removed at the points of a curve."""

LOWER_IS_BETTER = ("perplexity",)
"""Metrics in a specimen's history of which less is better."""

Scores = Mapping[HeadId, float]


@dataclass(frozen=True)
class Moment:
    """A checkpoint: the score of every head, and the metric as more and more heads go, the lowest scores first.

    `step` is the training step as far as it is known. `curve` has one value for each of `shares`, the first with all
    heads.
    """

    name: str
    step: int | None
    metric: str
    higher_is_better: bool
    scores: dict[str, float]
    shares: tuple[float, ...]
    curve: tuple[float, ...]

    def prunable(self, quality: float = 0.9) -> float:
        """The largest share of heads that can go, one after the other, with so much of the metric left.

        Where less is better, the metric may grow to 1 / quality of what it is with all heads. Between two points of the
        curve it is taken to change in a line.
        """
        if not 0 < quality <= 1:
            raise ValueError(f"{quality:g} of the metric; a share above 0 and up to 1 is needed")
        sign = 1 if self.higher_is_better else -1
        least = sign * self.curve[0] * (quality if self.higher_is_better else 1 / quality)
        reached = 0.0
        points = list(zip(self.shares, (sign * value for value in self.curve), strict=True))
        for (share, value), (next_share, next_value) in pairwise(points):
            if next_value < least:
                return share + (next_share - share) * max(0.0, value - least) / (value - next_value)
            reached = next_share
        return reached

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self) | {"shares": list(self.shares), "curve": list(self.curve)}

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Moment:
        """What `to_json` wrote."""
        return cls(**dict(record) | {"shares": tuple(record["shares"]), "curve": tuple(record["curve"])})


@dataclass(frozen=True, eq=False)
class Judge:
    """What checkpoints are judged by: a task, scores of heads, and the first n development examples.

    `scores` is told a model; it is whoever calls that knows a method.
    """

    task: Task
    scores: Callable[[HeadModel], Scores]
    n: int | None = None
    shares: tuple[float, ...] = SHARES


def read_history(path: str | Path) -> list[Moment]:
    """The moments that a specimen's history.json holds."""
    try:
        history = json.loads(Path(path).read_text(encoding="utf-8"))
        return [_moment_of(history, point) for point in history["points"]]
    except (json.JSONDecodeError, KeyError, TypeError) as error:
        raise ValueError(f"{path} is no history of a training: heads, removed, metric and points are needed") from error


def dynamics(folders: Sequence[str | Path], judge: Judge, have: int = 0) -> Iterator[Moment | None]:
    """A moment for each checkpoint in the order given, without the first `have`; None wherever it can be left.

    All checkpoints must be of the same shape, as those of one training are.
    """
    from headscope.models.loading.loader import load

    grid = None
    for folder in folders[have:]:
        head_model = load(folder)
        grid = grid or head_model.grid
        if head_model.grid != grid:
            raise ValueError(f"{folder} has {head_model.grid.describe()}; the checkpoint before has {grid.describe()}")
        yield from _judged(head_model, Path(folder).name, judge)


def step_of(name: str) -> int | None:
    """The training step that a folder's name ends in, as in `checkpoint-500`."""
    found = re.search(r"(\d+)$", name)
    return int(found[1]) if found else None


def _judged(head_model: HeadModel, name: str, judge: Judge) -> Iterator[Moment | None]:
    from headscope.pruning.evaluation.evaluator import Evaluator

    evaluator = Evaluator.of(head_model, judge.task, "development", judge.n)
    scores = judge.scores(head_model)
    yield None
    order = sorted((head for head in head_model.grid if head not in head_model.removed), key=scores.__getitem__)
    curve = []
    for share in judge.shares:
        mask = HeadMask(head_model.grid, frozenset(order[: round(share * len(order))]))
        for _ in evaluator.steps(mask):
            yield None
        curve.append(float(judge.task.metrics[0].estimate(evaluator.outcomes(mask)).value))
    yield Moment(
        name,
        step_of(name),
        judge.task.metrics[0].name,
        judge.task.higher_is_better,
        {str(head): float(scores[head]) for head in head_model.grid},
        judge.shares,
        tuple(curve),
    )


def _moment_of(history: Mapping[str, Any], point: Mapping[str, Any]) -> Moment:
    return Moment(
        f"step {point['step']}",
        point["step"],
        history["metric"],
        history["metric"] not in LOWER_IS_BETTER,
        dict(zip(history["heads"], point["scores"], strict=True)),
        tuple(history["removed"]),
        tuple(point["curve"]),
    )
