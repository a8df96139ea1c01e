"""What breaks when heads are switched off."""

from __future__ import annotations

from dataclasses import dataclass, field

from jobs.kind import Bench, Kind, Step, Steps, register
from jobs.run import SHORT


@register
@dataclass(frozen=True)
class BreaksRun(Kind):
    """The examples that come out differently under `mask` than under `against`, which is no mask by default."""

    mask: str = ""
    against: str = ""
    task: str = ""
    data: str = ""
    columns: dict[str, str] = field(default_factory=dict)
    split: str = "development"
    n: int | None = None
    most: int = 50

    key = "breaks"
    kept = False

    @property
    def title(self) -> str:
        """The model and what is gone."""
        gone, other = len(self.mask.split()), len(self.against.split())
        beside = f" rather than {other}" if other else ""
        return f"What breaks in {self.model} without {gone} {'head' if gone == 1 and not other else 'heads'}{beside}"

    @property
    def lane(self) -> str:
        """It takes seconds."""
        return SHORT

    def steps(self, bench: Bench) -> Steps:
        """One step a batch under either mask; a run that was stopped begins again."""
        from pruning.breaks import what_breaks
        from pruning.evaluation import Evaluator
        from pruning.mask import HeadMask
        from tasks.chosen import chosen_task

        head_model = bench.load(self.model)
        task, broken = chosen_task(head_model, self.task, self.data, self.columns)
        evaluator = Evaluator.of(head_model, task, self.split, self.n)
        masks = [HeadMask.of(head_model.grid, heads) for heads in (self.against, self.mask)]
        for number, mask in enumerate(masks):
            for done, total in evaluator.steps(mask):
                yield Step(number * total + done, 2 * total)
        first, second = map(evaluator.outcomes, masks)
        found = what_breaks(task, head_model, first, second, self.most)
        return {
            "task": task.title,
            "split": self.split,
            **found.to_json(),
            "skipped": [str(row) for row in broken[:20]],
        }
