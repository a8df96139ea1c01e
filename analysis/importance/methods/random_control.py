"""The control: numbers that know nothing of the model."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import torch

from headscope.analysis.importance.method import Method, Values, Weights, register
from headscope.models.head_model import HeadModel
from headscope.tasks.batches.batching import Batch
from headscope.tasks.task import Task


@register
@dataclass(frozen=True)
class RandomControl(Method):
    """A number between 0 and 1 for every head, drawn by the seed alone; a method that is no better says nothing."""

    key = "random"
    title = "Random"
    reference = "control"
    about = "A random number: the order that every method has to beat."

    seed: int = field(default=0, metadata={"about": "Another seed is another order."})

    def of_batch(self, head_model: HeadModel, task: Task, batch: Batch) -> tuple[Values, Weights | None]:
        """The same numbers for every example."""
        del task
        drawn = np.random.default_rng(self.seed).random(len(head_model.grid))
        numbers = [
            0.0 if head in head_model.removed else drawn[place] for head, place in head_model.grid.positions.items()
        ]
        return torch.tensor(numbers, dtype=torch.float64).expand(len(batch), -1), None
