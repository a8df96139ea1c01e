"""Methods whose scores are learned: they are read from a trained run, not computed from batches."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NoReturn

from headscope.analysis.importance.method import Method
from headscope.models.head_model import HeadModel
from headscope.tasks.batches.batching import Batch
from headscope.tasks.task import Task


@dataclass(frozen=True)
class NeedsRun(Method):
    """A method that the registry shows, and that cannot score a model by itself; `needs_run` says what it reads."""

    run: str = field(
        default="", metadata={"about": "The run that is read, by its id; by default the last on the same task."}
    )

    def of_batch(self, head_model: HeadModel, task: Task, batch: Batch) -> NoReturn:
        """Refuse: there is nothing to compute."""
        del head_model, task, batch
        raise ValueError(f"{self.title} needs {self.needs_run}; it is not computed from batches")
