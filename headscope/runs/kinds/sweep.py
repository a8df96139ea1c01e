"""Removes more and more heads by a strategy, and judges what is left at every step."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from headscope.runs.kind import Kind, Step, Steps, Workspace, register

if TYPE_CHECKING:
    from headscope.pruning.evaluation.evaluator import Evaluator
    from headscope.tasks.task_selection import LeftOut


@register
@dataclass(frozen=True)
class SweepRun(Kind):
    """A pruning curve with random orders beside it; the points are those of the curve, then of each order in turn.

    `method` and its `options` give the scores that a strategy takes, from `n_scoring` calibration examples; `settings`
    are options of the strategy. Only heads of `banks` go, all if none is named. `step` is the share of heads between
    two points, 0 for one head at a time. Every point is shared with other runs by headscope/runs/measurement_cache.py.
    """

    strategy: str = "score"
    method: str = "gradient"
    options: dict[str, Any] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)
    banks: str = ""
    step: float = 0.05
    seeds: int = 5
    task: str = ""
    data: str = ""
    columns: dict[str, str] = field(default_factory=dict)
    split: str = "development"
    n: int | None = None
    n_scoring: int = 128

    key = "sweep"
    command_name = "sweep"

    @property
    def title(self) -> str:
        """The model, what goes first, and where."""
        order = self.method if self.strategy == "score" else f"{self.strategy}, {self.method}"
        return f"Sweep of {self.model}: {order}" + (f", {self.banks} heads only" if self.banks else "")

    @property
    def arguments(self) -> dict[str, Any]:
        """Settings of the strategy are arguments of their own."""
        given = super().arguments
        return {"option": given.pop("options"), **given.pop("settings")} | given

    def steps(self, workspace: Workspace) -> Steps:
        """One step a point, one a batch on the way, and one wherever the search for the next can be left."""
        from headscope.models.loading.fingerprint import fingerprint
        from headscope.pruning.evaluation.results import Point, first_worse
        from headscope.pruning.search.strategy import strategy_with
        from headscope.pruning.search.sweep import Sweep, masks_ahead, removal_order, sweep
        from headscope.runs.learned_scores import judged_in
        from headscope.runs.measurement_cache import MeasurementCache
        from headscope.runs.ray.cluster import Keep, Shared, helped
        from headscope.runs.strategy_inputs import Calibration

        plan = Sweep(strategy_with(self.strategy, self.settings), self.step, self.seeds)
        evaluator, broken = self._judge(workspace)
        head_model, task = evaluator.head_model, evaluator.task
        folder, mark = workspace.folder.parent, fingerprint(self.model)
        calibration = Calibration(
            head_model, task, self.n_scoring, folder, mark, self.method, self.options, judged_in(asdict(self))
        )
        subject = calibration.subject(plan.strategy, self.banks)
        points = [Point.from_json(point) for point in workspace.points]
        cache = MeasurementCache(folder, mark, evaluator.mark, "point")
        prefix = f"{evaluator.mark} "

        def wanted() -> dict[str, Keep]:
            masks = [mask for mask in map(str, masks_ahead(subject, plan)) if mask not in cache]
            return {prefix + mask: partial(cache.__setitem__, mask) for mask in masks}

        with helped(self, workspace, wanted) as others:
            for progress in sweep(evaluator, subject, plan, Shared(cache, others, prefix), tuple(points)):
                if progress.point is not None:
                    points.append(progress.point)
                record = None if progress.point is None else progress.point.to_json()
                yield Step(progress.done, progress.total, record)
        worse = first_worse(points)
        order = removal_order(head_model.grid, plan.strategy, subject, points)
        return {
            "task": task.title,
            "metric": points[0].metric,
            "higher_is_better": task.higher_is_better,
            "split": self.split,
            "n": points[0].n,
            "order": [str(head) for head in order],
            "first_worse": None if worse is None else worse.to_json(),
            "points": [point.to_json() for point in points if point.series == "order"],
            "random": [
                [point.to_json() for point in points if point.series == f"random {seed}"] for seed in range(self.seeds)
            ],
            "skipped": [str(row) for row in broken[:20]],
        }

    def hand(self, workspace: Workspace) -> Callable[[str], dict[str, Any]]:
        """A part is the mark of what judges, and a mask; what is found is its point."""
        from headscope.pruning.masks import HeadMask

        evaluator, _ = self._judge(workspace)

        def point(part: str) -> dict[str, Any]:
            mark, _, mask = part.partition(" ")
            if mark != evaluator.mark:
                raise ValueError(f"other examples on a node than {mark}")
            return evaluator.point(HeadMask.of(evaluator.head_model.grid, mask)).to_json()

        return point

    def _judge(self, workspace: Workspace) -> tuple[Evaluator, LeftOut]:
        from headscope.pruning.evaluation.evaluator import Evaluator
        from headscope.tasks.task_selection import chosen_task

        head_model = workspace.load(self.model)
        task, broken = chosen_task(head_model, self.task, self.data, self.columns)
        return Evaluator.of(head_model, task, self.split, self.n), broken
