"""Judges a model, whole or masked."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from headscope.runs.kind import Kind, Step, Steps, Workspace, register
from headscope.runs.run import LONG, SHORT

SHORT_UP_TO = 200
"""Examples that a short run may have."""


@register
@dataclass(frozen=True)
class EvaluationRun(Kind):
    """Every metric of a task with its interval; the points are what the model did on batch after batch."""

    mask: str = ""
    task: str = ""
    data: str = ""
    columns: dict[str, str] = field(default_factory=dict)
    split: str = "development"
    n: int | None = None

    key = "evaluation"
    command_name = "evaluate"

    @property
    def title(self) -> str:
        """The model and what is gone."""
        gone = len(self.mask.split())
        without = f" without {gone} {'head' if gone == 1 else 'heads'}" if gone else ""
        return f"Evaluation of {self.model} on {self.split}{without}"

    @property
    def lane(self) -> str:
        """The interactive worker serves what takes seconds."""
        return SHORT if self.n is not None and self.n <= SHORT_UP_TO else LONG

    def steps(self, workspace: Workspace) -> Steps:
        """One step a batch; batches that were judged already are not judged again."""
        import numpy as np

        from headscope.models.gating import gated
        from headscope.pruning.masks import HeadMask
        from headscope.tasks.task import Outcomes
        from headscope.tasks.task_selection import chosen_task

        head_model = workspace.load(self.model)
        task, broken = chosen_task(head_model, self.task, self.data, self.columns)
        gates = HeadMask.of(head_model.grid, self.mask).as_gates(head_model.device)
        seen = [
            Outcomes(task.key, self.split, np.array(point["indices"]), _arrays(point["columns"]))
            for point in workspace.points
        ]
        n_done = sum(part.n for part in seen)
        batches = list(task.batches(head_model, self.split, self.n))
        total = sum(len(batch) for batch in batches)
        yield Step(n_done, total)
        for batch in batches[len(seen) :]:
            with gated(head_model, gates):
                part = task.seen(head_model, batch)
            seen.append(part)
            n_done += part.n
            columns = {name: column.tolist() for name, column in part.columns.items()}
            yield Step(n_done, total, {"indices": part.indices.tolist(), "columns": columns})
        outcomes = task.gathered(self.split, seen)
        return {
            "task": task.title,
            "split": self.split,
            "n": outcomes.n,
            "metrics": [_estimate(estimate) for estimate in task.estimates(outcomes)],
            "higher_is_better": task.higher_is_better,
            "skipped": [str(row) for row in broken[:20]],
        }


def _arrays(columns: dict[str, list[Any]]) -> dict[str, Any]:
    import numpy as np

    return {name: np.array(column) for name, column in columns.items()}


def _estimate(estimate: Any) -> dict[str, Any]:
    from dataclasses import asdict

    return asdict(estimate)
