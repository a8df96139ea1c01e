"""Finds the heads that must go for a budget."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from headscope.runs.kind import Kind, Step, Steps, Workspace, register
from headscope.runs.measurement_cache import MeasurementCache

if TYPE_CHECKING:
    from headscope.models.head_model import HeadModel
    from headscope.pruning.evaluation.evaluator import Evaluator
    from headscope.pruning.evaluation.results import Point
    from headscope.pruning.masks import HeadMask
    from headscope.pruning.search.budget_search import Found, Search, Trial
    from headscope.tasks.task import Task

REPORTED = "test"
"""The split on which the mask is told to cost what it costs: it was chosen on another."""

FEW = 6
"""Trials beside those that halving takes, as a guess for the progress bar."""


@register
@dataclass(frozen=True)
class BudgetRun(Kind):
    """Heads go in the order of their importance by one method until every budget is kept.

    Budgets are texts that pruning/search/budgets.py reads; the points are the masks that were tried.
    """

    budgets: list[str] = field(default_factory=list)
    method: str = "gradient"
    options: dict[str, Any] = field(default_factory=dict)
    n_scoring: int = 128
    banks: str = ""
    task: str = ""
    data: str = ""
    columns: dict[str, str] = field(default_factory=dict)
    split: str = "development"
    n: int | None = None

    key = "budget"
    command_name = "budget"

    @property
    def title(self) -> str:
        """The model and what is asked of it."""
        return f"Budget of {self.model}: {'; '.join(self.budgets)}"

    @property
    def arguments(self) -> dict[str, Any]:
        """As the command calls them."""
        given = super().arguments
        del given["n_scoring"]
        return {"keep": given.pop("budgets"), "option": given.pop("options")} | given

    def steps(self, workspace: Workspace) -> Steps:
        """Scores the heads, then tries masks; what was tried already is not tried again."""
        from headscope.models.loading.fingerprint import fingerprint
        from headscope.pruning.masks import HeadMask
        from headscope.pruning.search.budget_candidates import Candidates
        from headscope.pruning.search.budget_search import Judge, Search, timer_of
        from headscope.pruning.search.budgets import parse_budgets
        from headscope.pruning.search.subject import heads_of
        from headscope.runs.learned_scores import judged_in
        from headscope.runs.strategy_inputs import Calibration
        from headscope.tasks.task_selection import chosen_task

        budgets = parse_budgets(self.budgets)
        head_model = workspace.load(self.model)
        task, broken = chosen_task(head_model, self.task, self.data, self.columns)
        folder, mark, unpruned = workspace.folder.parent, fingerprint(self.model), HeadMask(head_model.grid)
        going = heads_of(head_model.grid, head_model.removed, self.banks)
        yield Step(0, 1)
        calibration = Calibration(
            head_model, task, self.n_scoring, folder, mark, self.method, self.options, judged_in(asdict(self))
        )
        yield from (Step(0, 1) for _ in calibration.scoring(unpruned))
        scores = calibration.scores(unpruned)
        candidates = Candidates.of(head_model, sorted(going, key=lambda head: scores[head]), budgets)
        shared = {split: self._shared(head_model, task, split, workspace) for split in (self.split, REPORTED)}
        judge = Judge(shared[self.split].point_steps, task.higher_is_better)
        trials = [_trial(point, head_model) for point in workspace.points]
        found = yield from _followed(Search(candidates, budgets, timer_of(head_model), judge, trials), len(trials))
        told = {}
        for split, judged in shared.items():
            whole = yield from _waited(judged.point_steps(unpruned))
            point = yield from _waited(judged.point_steps(found.mask))
            told[split] = {"unpruned": whole.to_json(), "point": point.to_json()}
        return {
            "budgets": [str(budget) for budget in budgets],
            "method": self.method,
            "task": task.title,
            "split": self.split,
            "higher_is_better": task.higher_is_better,
            **_told(candidates, found),
            **told[self.split],
            REPORTED: told[REPORTED],
            "skipped": [str(row) for row in broken[:20]],
        }

    def _shared(self, head_model: HeadModel, task: Task, split: str, workspace: Workspace) -> _Shared:
        from headscope.models.loading.fingerprint import fingerprint
        from headscope.pruning.evaluation.evaluator import Evaluator

        evaluator = Evaluator.of(head_model, task, split, self.n)
        return _Shared(
            evaluator, MeasurementCache(workspace.folder.parent, fingerprint(self.model), evaluator.mark, "point")
        )


@dataclass(frozen=True)
class _Shared:
    """Points of a split that other runs have measured are not measured again."""

    evaluator: Evaluator
    known: MeasurementCache

    def point_steps(self, mask: HeadMask) -> Generator[object, None, Point]:
        """As those of the evaluator."""
        from headscope.pruning.evaluation.results import Point

        if str(mask) not in self.known:
            point = yield from self.evaluator.point_steps(mask)
            self.known[str(mask)] = point.to_json()
        return Point.from_json(self.known[str(mask)])


def _followed(search: Search, n_known: int) -> Generator[Step, None, Found]:
    """The search as steps of a run; how many trials it will take can only be guessed."""
    steps, done = search.steps(), n_known
    guess = len(search.candidates.units).bit_length() + FEW if search.quality else FEW
    while True:
        try:
            trial = next(steps)
        except StopIteration as end:
            found: Found = end.value
            return found
        done += trial is not None
        yield Step(done, max(guess, done + 1), None if trial is None else _point(trial))


def _waited(steps: Generator[object, None, Point]) -> Generator[Step, None, Point]:
    """The last of the work, of which nobody knows how far it is."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            found: Point = end.value
            return found
        yield Step(1, 1)


def _told(candidates: Any, found: Found) -> dict[str, Any]:
    costs = next(iter(candidates.costs.values()))
    return {
        "met": found.met,
        "sentence": found.sentence,
        "mask": str(found.mask),
        "removed": len(found.mask),
        "timings": [timing.to_json() for timing in found.timings],
        "cost": {"dense": asdict(costs.under(candidates.mask(()))), "smaller": asdict(costs.under(found.mask))},
    }


def _point(trial: Trial) -> dict[str, Any]:
    return {
        "mask": str(trial.mask),
        "fits": trial.fits,
        "point": None if trial.point is None else trial.point.to_json(),
        "timing": None if trial.timing is None else trial.timing.to_json(),
        "budget": None if trial.budget is None else asdict(trial.budget),
    }


def _trial(point: dict[str, Any], head_model: HeadModel) -> Trial:
    from headscope.pruning.evaluation.results import Point
    from headscope.pruning.evaluation.speed import Timing
    from headscope.pruning.masks import HeadMask
    from headscope.pruning.search.budget_search import Trial
    from headscope.pruning.search.budgets import Faster

    return Trial(
        HeadMask.of(head_model.grid, point["mask"]),
        point["fits"],
        None if point["point"] is None else Point.from_json(point["point"]),
        None if point["timing"] is None else Timing.from_json(point["timing"]),
        None if point["budget"] is None else Faster(**point["budget"]),
    )
