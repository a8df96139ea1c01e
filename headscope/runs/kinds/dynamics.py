"""How importance and prunability grow over the checkpoints of a training."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from headscope.runs.kind import Kind, Step, Steps, Workspace, register

if TYPE_CHECKING:
    from headscope.models.head_model import HeadModel
    from headscope.models.heads import HeadId


@register
@dataclass(frozen=True)
class DynamicsRun(Kind):
    """A point a checkpoint: the score of every head and its pruning curve. `model` says what they are judged by.

    `checkpoints` are folders or hub ids in the order of the training.
    """

    checkpoints: list[str] = field(default_factory=list)
    method: str = "gradient"
    n: int = 128
    task: str = ""
    data: str = ""
    columns: dict[str, str] = field(default_factory=dict)

    key = "dynamics"
    command_name = "dynamics"

    @property
    def title(self) -> str:
        """The last checkpoint, and how many there are."""
        return f"Dynamics of {self.model}: {len(self.checkpoints)} checkpoints"

    @property
    def arguments(self) -> dict[str, Any]:
        """The checkpoints come after the model."""
        given = super().arguments
        return {"": given.pop("checkpoints")} | given

    def steps(self, workspace: Workspace) -> Steps:
        """A step wherever the work can be left."""
        from headscope.analysis.importance.method import method_of, score
        from headscope.pruning.search.dynamics import Judge, dynamics
        from headscope.tasks.task_selection import chosen_task

        task, _ = chosen_task(workspace.load(self.model), self.task, self.data, self.columns)
        method = method_of(self.method)()

        def scores(head_model: HeadModel) -> dict[HeadId, float]:
            return dict(score(method, head_model, task, "calibration", self.n).values)

        moments, total = list(workspace.points), len(self.checkpoints)
        yield Step(len(moments), total)
        for moment in dynamics(self.checkpoints, Judge(task, scores, self.n), len(moments)):
            point = None if moment is None else moment.to_json()
            if point is not None:
                moments.append(point)
            yield Step(len(moments), total, point)
        return {"moments": moments}
