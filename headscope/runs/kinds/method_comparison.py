"""Compares ways to choose the heads that stay, at equal numbers of them."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from headscope.runs.kind import Kind, Step, Steps, Workspace, register
from headscope.runs.run import LONG

if TYPE_CHECKING:
    from headscope.models.head_model import HeadModel
    from headscope.pruning.search.method_comparison import Contest, Entry, Scores
    from headscope.tasks.task import Task

    Cell = tuple[str, int, int]

WAYS = {
    "dsp": "subset gates",
    "dsp-frozen": "subset gates, weights frozen",
    "l0": "L0 gates",
    "gradient": "gradient order",
    "random": "random order",
    "scratch": "new weights",
}
"""The ways to choose, by the names that people read."""


@register
@dataclass(frozen=True)
class EqualKRun(Kind):
    """A point for every way, number of heads and seed: the metric on test with the old weights and after training.

    `keeps`, `seeds`, `ways`, `n_steps`, `finetune`, `scratch` and `subset`, the settings of subset gates, are the
    fields of `headscope.pruning.search.method_comparison.Contest`, `training` further fields of
    `headscope.pruning.training.settings.Settings`. Gradient scores come from `n` calibration examples.
    """

    keeps: list[int] = field(default_factory=list)
    ways: list[str] = field(default_factory=lambda: ["dsp", "l0", "gradient", "random"])
    seeds: list[int] = field(default_factory=lambda: [0, 1, 2])
    n_steps: int = 400
    finetune: int = 100
    scratch: int = 2000
    training: dict[str, Any] = field(default_factory=dict)
    n: int = 256
    task: str = ""
    data: str = ""
    columns: dict[str, str] = field(default_factory=dict)
    subset: dict[str, Any] = field(default_factory=dict)

    key = "equal-k"
    command_name = "compare"

    @property
    def title(self) -> str:
        """The model, and how many heads stay."""
        return f"Choices of {', '.join(map(str, self.keeps))} heads of {self.model} compared"

    @property
    def lane(self) -> str:
        """It takes minutes."""
        return LONG

    @property
    def arguments(self) -> dict[str, Any]:
        """Some go by other names there."""
        given = super().arguments
        return given | {"keep": given.pop("keeps"), "steps": given.pop("n_steps")}

    def steps(self, workspace: Workspace) -> Steps:
        """A step an entry; a run that was stopped begins the entry it was at anew."""
        from headscope.runs.ray.cluster import helped
        from headscope.tasks.task_selection import chosen_task

        contest = self.contest()
        head_model = workspace.load(self.model)
        task, broken = chosen_task(head_model, self.task, self.data, self.columns)
        entries, total = list(workspace.points), len(contest.cells)
        yield Step(len(entries), total)
        workspace.say("scoring heads by gradient")
        scores = self._scores(head_model, task)
        done = [(entry["way"], entry["keep"], entry["seed"]) for entry in entries]
        left = [cell for cell in contest.cells if cell not in done]
        sent: dict[str, Any] = {}
        with helped(
            self, workspace, lambda: {_name(cell): partial(sent.__setitem__, _name(cell)) for cell in left}
        ) as others:
            for cell in left:
                while others.at_work(_name(cell)):
                    yield Step(len(entries), total)
                for entry in () if _name(cell) in sent else self._entry(head_model, task, scores, cell):
                    if entry is None:
                        yield Step(len(entries), total)
                    else:
                        sent[_name(cell)] = entry.to_json()
                entries.append(sent[_name(cell)])
                yield Step(len(entries), total, entries[-1])
        full = asdict(task.metrics[0].estimate(task.outcomes(head_model, "test")))
        return {
            "task": task.title,
            "metric": task.metrics[0].name,
            "higher_is_better": task.higher_is_better,
            "n_heads": len(head_model.grid) - len(head_model.removed),
            "full": full,
            "entries": entries,
            "sentence": best_of(entries, task.higher_is_better),
            "skipped": [str(row) for row in broken[:20]],
        }

    def hand(self, workspace: Workspace) -> Callable[[str], dict[str, Any]]:
        """A part is a way, a number of heads and a seed; what is found is the entry."""
        from headscope.tasks.task_selection import chosen_task

        head_model = workspace.load(self.model)
        task, _ = chosen_task(head_model, self.task, self.data, self.columns)
        scores = self._scores(head_model, task)
        cells = {_name(cell): cell for cell in self.contest().cells}

        def found(part: str) -> dict[str, Any]:
            (entry,) = (entry for entry in self._entry(head_model, task, scores, cells[part]) if entry is not None)
            return entry.to_json()

        return found

    def _entry(self, head_model: HeadModel, task: Task, scores: Scores, cell: Cell) -> Iterator[Entry | None]:
        """The entry of one cell; None wherever the work can be left."""
        from headscope.pruning.search.method_comparison import compared

        contest = self.contest()
        return compared(head_model, task, contest, scores, [other for other in contest.cells if other != cell])

    def _scores(self, head_model: HeadModel, task: Task) -> Scores:
        from headscope.analysis.importance.method import method_of, score

        return dict(score(method_of("gradient")(), head_model, task, "calibration", self.n).values)

    def contest(self) -> Contest:
        """What is compared; a ValueError in one sentence if that cannot be."""
        from headscope.pruning.search.method_comparison import Contest
        from headscope.pruning.training.settings import Settings

        known = [name for name in Settings.__dataclass_fields__ if name not in ("steps", "seed")]
        unknown = [name for name in self.training if name not in known]
        if unknown:
            raise ValueError(f"the training settings {', '.join(unknown)}; known are {', '.join(known)}")
        return Contest(
            tuple(self.keeps), tuple(self.seeds), tuple(self.ways), self.n_steps, self.finetune, self.scratch,
            self.training, self.subset,
        )  # fmt: skip


def _name(cell: Cell) -> str:
    return " ".join(map(str, cell))


def best_of(entries: list[dict[str, Any]], higher_is_better: bool) -> str:
    """Which way is best after training where the fewest heads stay, mean over seeds."""
    fewest = min(entry["keep"] for entry in entries)
    own: dict[str, list[float]] = {}
    for entry in entries:
        if entry["keep"] == fewest:
            own.setdefault(entry["way"], []).append(entry["trained"]["value"])
    means = {way: statistics.fmean(values) for way, values in own.items()}
    best = (max if higher_is_better else min)(means, key=means.__getitem__)
    return f"with {fewest} heads left {WAYS[best]} is best: {entries[0]['trained']['metric']} {means[best]:.4g} on test"
