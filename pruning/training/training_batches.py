"""What a training sees step after step: rounds of examples, in batches of like length."""

from __future__ import annotations

import random
from collections.abc import Sequence

from headscope.models.head_model import HeadModel
from headscope.pruning.training.settings import Settings
from headscope.tasks.batches.batching import EncodedRow
from headscope.tasks.task import Task


class Rounds:
    """The examples of every step; they depend on the task, the settings and the number of the step alone.

    A task that has fresh examples gives other ones in every round; one that has not gives those of calibration again,
    in another order. Every round has as many steps as the first.
    """

    def __init__(self, head_model: HeadModel, task: Task, settings: Settings) -> None:
        self.head_model, self.task, self.settings = head_model, task, settings
        self._number = 0
        self._batches = self._round(0)
        self.steps_a_round = len(self._batches)
        self.n_rows = sum(map(len, self._batches))

    def at(self, step: int) -> list[EncodedRow]:
        """The rows of one step."""
        number, place = divmod(step, self.steps_a_round)
        if self._number != number:
            self._number, self._batches = number, self._round(number)
        return self._batches[place % len(self._batches)]

    def n_seen(self, steps: int) -> int:
        """How many examples so many steps see; those that come again count once."""
        seen = steps * self.settings.batch
        return seen if self.task.fresh else min(seen, self.n_rows)

    def _round(self, number: int) -> list[list[EncodedRow]]:
        settings = self.settings
        rows = self.task.training_rows(self.head_model, settings.seed, number)
        if settings.longest:
            rows = [row for row in rows if row.lengths[0] <= settings.longest]
        if not rows:
            raise ValueError(f"{self.task.title}: no example to train on of at most {settings.longest} tokens")
        return mixed(rows, settings, self.task.budget(self.head_model), number)


def mixed(rows: Sequence[EncodedRow], settings: Settings, budget: int, number: int) -> list[list[EncodedRow]]:
    """The rows in batches of like length, in an order that depends on the seed and the number of the round alone."""
    chance = random.Random(f"{settings.seed}/{number}")
    waiting = sorted(chance.sample(rows, len(rows)), key=lambda row: row.lengths)
    batches: list[list[EncodedRow]] = []
    for row in waiting:
        full = not batches or len(batches[-1]) == settings.batch or (len(batches[-1]) + 1) * row.lengths[0] > budget
        if full:
            batches.append([])
        batches[-1].append(row)
    chance.shuffle(batches)
    return batches
