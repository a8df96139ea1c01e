"""What breaks when heads are switched off."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from headscope.models.loading.fingerprint import file_fingerprint
from headscope.runs.kind import Kind, Step, Steps, Workspace, register
from headscope.runs.run import SHORT

if TYPE_CHECKING:
    from headscope.pruning.evaluation.evaluator import Evaluator
    from headscope.tasks.task_selection import LeftOut


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

    def steps(self, workspace: Workspace) -> Steps:
        """One step a batch under either mask; a run that was stopped begins again."""
        from headscope.pruning.evaluation.error_analysis import what_breaks
        from headscope.pruning.masks import HeadMask

        evaluator, broken = self._evaluator(workspace)
        head_model = evaluator.head_model
        masks = [HeadMask.of(head_model.grid, heads) for heads in (self.against, self.mask)]
        for number, mask in enumerate(masks):
            for done, total in evaluator.steps(mask):
                yield Step(number * total + done, 2 * total)
        first, second = map(evaluator.outcomes, masks)
        found = what_breaks(evaluator.task, head_model, first, second, self.most)
        return {
            "task": evaluator.task.title,
            "split": self.split,
            **found.to_json(),
            "skipped": [str(row) for row in broken[:20]],
        }

    def _evaluator(self, workspace: Workspace) -> tuple[Evaluator, LeftOut]:
        """Kept as long as the model stays in memory, so that the unpruned model is judged once for many masks."""
        from headscope.pruning.evaluation.evaluator import Evaluator
        from headscope.tasks.task_selection import chosen_task

        head_model = workspace.load(self.model)
        memory: dict[Any, Any] = workspace.models.beside(self.model)
        columns = tuple(sorted(self.columns.items()))
        judged = ("breaks", self.task, self.data, file_fingerprint(self.data), columns, self.split, self.n)
        if judged not in memory:
            task, broken = chosen_task(head_model, self.task, self.data, self.columns)
            memory[judged] = Evaluator.of(head_model, task, self.split, self.n), broken
        found: tuple[Evaluator, LeftOut] = memory[judged]
        return found
