"""Scores every head by one method."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headscope.models.loading.fingerprint import fingerprint
from headscope.runs.kind import Kind, Step, Steps, Workspace, register
from headscope.runs.learned_scores import SOURCES, judged_in, newest, result_of
from headscope.runs.run import LONG, SHORT, Run

if TYPE_CHECKING:
    from headscope.analysis.importance.method import Method, Portion
    from headscope.models.head_model import HeadModel
    from headscope.tasks.batches.batching import Batch
    from headscope.tasks.task import Task
    from headscope.tasks.task_selection import LeftOut

SHORT_UP_TO = 256
"""Examples that a short run may have."""

QUICK = ("confidence", "entropy", "fisher", "gradient", "lrp", "random", "taylor", "wanda")
"""Methods whose short runs take seconds."""


@register
@dataclass(frozen=True)
class ImportanceRun(Kind):
    """The scores of a method on the first n examples of a split; the points are the values of batch after batch.

    A method whose scores are learned reads them from a finished run: options {"run": ID}, by default the last one that
    is by the same task and data.
    """

    method: str = "gradient"
    options: dict[str, Any] = field(default_factory=dict)
    task: str = ""
    data: str = ""
    columns: dict[str, str] = field(default_factory=dict)
    split: str = "calibration"
    n: int = 128

    key = "importance"
    command_name = "importance"
    edition = 5

    @property
    def title(self) -> str:
        """The method and its size."""
        return f"Importance of {self.model}: {self.method}, {self.n} examples"

    @property
    def lane(self) -> str:
        """The interactive worker serves what takes seconds."""
        quick = self.method in SOURCES or (self.n <= SHORT_UP_TO and self.method in QUICK)
        return SHORT if quick else LONG

    def as_run(self, folder: Path) -> Run:
        """The run that this asks for; learned scores are those of the run that is the last one now."""
        if self.method not in SOURCES or self.options.get("run"):
            return super().as_run(folder)
        learned = newest(folder, fingerprint(self.model), self.method, judged_in(asdict(self)))
        return super(ImportanceRun, replace(self, options={"run": learned}) if learned else self).as_run(folder)

    @property
    def arguments(self) -> dict[str, Any]:
        """Options of the method have a name of their own on the command line."""
        given = super().arguments
        return {"option": given.pop("options")} | given

    def steps(self, workspace: Workspace) -> Steps:
        """One step a batch; the numbers of batches that are there already are not computed again."""
        from headscope.analysis.importance.method import balance_of, combined, incomplete
        from headscope.analysis.importance.stability import stability
        from headscope.runs.ray.cluster import Keep, helped

        head_model = workspace.load(self.model)
        if self.method in SOURCES and self.options.get("run"):
            heads, gone = [str(head) for head in head_model.grid], {str(head) for head in head_model.removed}
            return result_of(workspace.folder.parent, self.options["run"], self.method, heads, gone)
        method, task, batches, broken = self._asked(head_model)
        total = sum(len(batch) for batch in batches)
        found = [_portion(point) for point in workspace.points]
        missed: dict[int, float] = {}
        for earlier in workspace.points:
            _note_missed(missed, earlier)
        seen = sum(len(portion.indices) for portion in found)
        yield Step(seen, total)
        sent: dict[str, dict[str, Any]] = {}
        numbers = [str(number) for number in range(len(found), len(batches))]

        def wanted() -> dict[str, Keep]:
            return {number: partial(sent.__setitem__, number) for number in numbers} if self.lane == LONG else {}

        with helped(self, workspace, wanted) as others:
            for number in numbers:
                while others.at_work(number):
                    yield Step(seen, total)
                batch = batches[int(number)]
                point = sent.pop(number, None) or _scored(method, head_model, task, batch)
                found.append(_portion(point))
                _note_missed(missed, point)
                seen += len(batch)
                yield Step(seen, total, point)
        scores = combined(method, head_model.grid, found)
        firm = stability(method, head_model.grid, found) if scores.n > 1 else None
        return {
            "method": self.method,
            "task": task.title,
            "split": self.split,
            **scores.to_json(),
            "balance": balance_of(method, head_model, task, batches[0], found[0]),
            "stability": None if firm is None else asdict(firm),
            "skipped": [str(row) for row in broken[:20]],
            "notes": [note for note in [incomplete(missed)] if note],
        }

    def hand(self, workspace: Workspace) -> Callable[[str], dict[str, Any]]:
        """A part is the number of a batch; what is found is its point."""
        head_model = workspace.load(self.model)
        method, task, batches, _ = self._asked(head_model)
        return lambda part: _scored(method, head_model, task, batches[int(part)])

    def _asked(self, head_model: HeadModel) -> tuple[Method, Task, list[Batch], LeftOut]:
        from headscope.analysis.importance.method import method_of
        from headscope.tasks.task_selection import chosen_task

        method = method_of(self.method)(**self.options)
        task, broken = chosen_task(head_model, self.task, self.data, self.columns)
        return method, task, list(task.batches(head_model, self.split, self.n)), broken


def _scored(method: Method, head_model: HeadModel, task: Task, batch: Batch) -> dict[str, Any]:
    from headscope.analysis.importance.method import missed_by, portions

    (portion,) = portions(method, head_model, task, [batch])
    return {
        "indices": list(portion.indices),
        "values": portion.values.tolist(),
        "weights": portion.weights.tolist(),
        "missed": missed_by(method, head_model, task, batch, portion).tolist(),
    }


def _note_missed(missed: dict[int, float], point: dict[str, Any]) -> None:
    """Notes by example how far its values miss their sum; of one that was read in parts, the most."""
    for index, share in zip(point["indices"], point["missed"], strict=True):
        missed[index] = max(share, missed.get(index, 0.0))


def _portion(point: dict[str, Any]) -> Portion:
    import numpy as np

    from headscope.analysis.importance.method import Portion

    return Portion(tuple(point["indices"]), np.array(point["values"]), np.array(point["weights"]))
