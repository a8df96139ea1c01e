"""Finds the heads that must go for a budget."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from jobs.kind import Bench, Kind, Step, Steps, register

if TYPE_CHECKING:
    from models.head_model import HeadModel
    from pruning.budget_search import Found, Search, Trial
    from pruning.mask import HeadMask
    from tasks.task import Task

REPORTED = "test"
"""The split on which the mask is told to cost what it costs: it was chosen on another."""


@register
@dataclass(frozen=True)
class BudgetRun(Kind):
    """Heads go in the order of their importance by one method until every budget is kept.

    Budgets are texts that pruning/budgets.py reads. The first point is the order, the others are the masks tried.
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

    def steps(self, bench: Bench) -> Steps:
        """Scores the heads, then tries masks; what was tried already is not tried again."""
        from models.heads import HeadId
        from pruning.budget_candidates import Candidates
        from pruning.budget_search import Judge, Search, timer_of
        from pruning.budgets import parse_budgets
        from pruning.evaluation import Evaluator
        from tasks.chosen import chosen_task

        budgets = parse_budgets(self.budgets)
        head_model = bench.load(self.model)
        task, broken = chosen_task(head_model, self.task, self.data, self.columns)
        known = list(bench.points)
        if not known:
            known = [{"order": (yield from self._order(head_model, task))}]
            yield Step(0, 1, known[0])
        candidates = Candidates.of(head_model, [HeadId.parse(head) for head in known[0]["order"]], budgets)
        evaluator = Evaluator.of(head_model, task, self.split, self.n)
        judge = Judge(evaluator.point_steps, task.higher_is_better)
        trials = [_trial(point, head_model) for point in known[1:]]
        found = yield from _followed(Search(candidates, budgets, timer_of(head_model), judge, trials), len(trials))
        return {
            "budgets": [str(budget) for budget in budgets],
            "method": self.method,
            "task": task.title,
            "split": self.split,
            "higher_is_better": task.higher_is_better,
            **_told(candidates, found),
            "unpruned": evaluator.point(evaluator.unpruned).to_json(),
            **self._reported(head_model, task, found.mask),
            "skipped": [str(row) for row in broken[:20]],
        }

    def _order(self, head_model: HeadModel, task: Task) -> Generator[Step, None, list[str]]:
        """The addresses of the heads that may go, the least important first; equal ones as the grid has them."""
        from analysis.importance.method import combined, method_of, portions

        banks = self.banks.replace(",", " ").split() or [bank.bank for bank in head_model.grid.banks]
        going = {name for name in banks if head_model.grid.bank(name)}
        method = method_of(self.method)(**self.options)
        batches = list(task.batches(head_model, "calibration", self.n_scoring))
        found = []
        for number, portion in enumerate(portions(method, head_model, task, batches)):
            found.append(portion)
            yield Step(number, len(batches) + 1)
        scores = combined(method, head_model.grid, found).values
        there = [head for head in head_model.grid if head.bank in going and head not in head_model.removed]
        return [str(head) for head in sorted(there, key=lambda head: scores[head])]

    def _reported(self, head_model: HeadModel, task: Task, mask: HeadMask) -> dict[str, Any]:
        """The mask and the unpruned model on examples that nothing was chosen on."""
        from pruning.evaluation import Evaluator

        evaluator = Evaluator.of(head_model, task, REPORTED, self.n)
        points = {"unpruned": evaluator.point(evaluator.unpruned), "point": evaluator.point(mask)}
        return {REPORTED: {name: point.to_json() for name, point in points.items()}}


def _followed(search: Search, n_known: int) -> Generator[Step, None, Found]:
    """The search as steps of a run; how many trials it will take is not known before."""
    steps, done = search.steps(), n_known
    while True:
        try:
            trial = next(steps)
        except StopIteration as end:
            found: Found = end.value
            return found
        done += trial is not None
        yield Step(done, done + 1, None if trial is None else _point(trial))


def _told(candidates: Any, found: Found) -> dict[str, Any]:
    costs = next(iter(candidates.costs.values()))
    return {
        "met": found.met,
        "sentence": found.sentence,
        "mask": str(found.mask),
        "removed": len(found.mask),
        "point": None if found.point is None else found.point.to_json(),
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
    from pruning.budget_search import Trial
    from pruning.budgets import Faster
    from pruning.mask import HeadMask
    from pruning.point import Point
    from pruning.speed import Timing

    return Trial(
        HeadMask.of(head_model.grid, point["mask"]),
        point["fits"],
        None if point["point"] is None else Point.from_json(point["point"]),
        None if point["timing"] is None else Timing.from_json(point["timing"]),
        None if point["budget"] is None else Faster(**point["budget"]),
    )
