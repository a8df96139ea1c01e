"""Learns which heads to keep, removes the others and trains the smaller model briefly."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from headscope.runs.kind import Kind, Step, Steps, Workspace, register
from headscope.runs.run import LONG

if TYPE_CHECKING:
    from headscope.models.head_model import HeadModel
    from headscope.pruning.training.gate_training import Plan
    from headscope.pruning.training.mask_learning import Learned, Learning, Record
    from headscope.tasks.task import Outcomes, Task

MODEL = "model"
CHECKPOINT = "checkpoint.pt"
SECONDS_BETWEEN_CHECKPOINTS = 20.0
REPORTED = ("development", "test")
N_JUDGED = 4
"""Models that each split reports."""


@register
@dataclass(frozen=True)
class LearnRun(Kind):
    """Gates that are trained on training examples, the smaller model that comes of them, both reported with intervals.

    `gates` is the key of a scheme and `settings` are its options; `banks` names those whose heads have gates, all if
    none is named; `weights` are trained along or frozen. `training` are further fields of
    `headscope.pruning.training.settings.Settings`. It is reported on the first `n` examples of development and test, by
    default all of them. The points are the records of the run, gates among them; the result is a folder beside them
    that loads as a model.
    """

    gates: str = "l0"
    settings: dict[str, Any] = field(default_factory=dict)
    banks: str = ""
    weights: str = "trained"
    n_steps: int = 400
    finetune: int = 100
    seed: int = 0
    n: int | None = None
    training: dict[str, Any] = field(default_factory=dict)
    task: str = ""
    data: str = ""
    columns: dict[str, str] = field(default_factory=dict)

    key = "learn"
    edition = 2
    movable = True
    command_name = "learn"

    @property
    def title(self) -> str:
        """The gates, whose they are, and how many heads shall stay if that is known."""
        keep = self.settings.get("keep")
        named = f"{self.banks} heads of {self.model}" if self.banks else self.model
        return f"Learned pruning of {named}: {self.gates}" + (f", {keep} heads stay" if keep else "")

    @property
    def lane(self) -> str:
        """It takes minutes."""
        return LONG

    @property
    def arguments(self) -> dict[str, Any]:
        """Some go by other names there."""
        given = super().arguments
        settings, n_steps = given.pop("settings"), given.pop("n_steps")
        keep = {"keep": settings.pop("keep")} if "keep" in settings else {}
        return given | keep | {"steps": n_steps, "setting": settings}

    def steps(self, workspace: Workspace) -> Steps:
        """A step a training step, from the last checkpoint on; what was told already is not told again."""
        from headscope.pruning.training.fine_tuning import kept_state
        from headscope.pruning.training.mask_learning import Learning
        from headscope.tasks.task_selection import chosen_task

        plan = self.plan()
        head_model = workspace.load(self.model)
        task, broken = chosen_task(head_model, self.task, self.data, self.columns)
        learning = Learning(head_model, task, plan)
        state = kept_state(workspace.folder / CHECKPOINT, workspace.say)
        if state is not None:
            learning.load(state)
        yield from _followed(learning, workspace)
        workspace.say("reporting on development and test")
        learned = learning.learned()
        _write(learned, workspace)
        report = yield from _reported(head_model, learned, task, learning.total, self.n)
        (workspace.folder / CHECKPOINT).unlink()
        return {
            "scheme": self.gates,
            "split": "training" if task.fresh else "calibration",
            "n": learning.training.rounds.n_seen(self.n_steps),
            "task": task.title,
            "task_key": task.key,
            "metric": task.metrics[0].name,
            "higher_is_better": task.higher_is_better,
            "mask": str(learned.mask),
            "removed": len(learned.mask),
            "gates": {str(head): gate for head, gate in learned.gates.items()},
            "scores": {str(head): score for head, score in learned.scores.items()},
            "score": plan.scheme.score,
            "price": learned.price,
            "folder": MODEL,
            "parameters": learned.smaller.n_parameters,
            "parameters_dense": learned.smaller.n_parameters_dense,
            "best_step": learning.finetuning.best_step if learning.finetuning else None,
            "report": report,
            "skipped": [str(row) for row in broken[:20]],
        }

    def plan(self) -> Plan:
        """What is learned and how; a ValueError in one sentence if that cannot be."""
        from headscope.pruning.training.gate_scheme import scheme_with
        from headscope.pruning.training.gate_training import Plan
        from headscope.pruning.training.settings import Settings

        known = [name for name in Settings.__dataclass_fields__ if name not in ("steps", "seed")]
        unknown = [name for name in self.training if name not in known]
        if unknown:
            raise ValueError(f"the training settings {', '.join(unknown)}; known are {', '.join(known)}")
        every = max(1, self.n_steps // 4)
        training = Settings(**{"steps": self.n_steps, "seed": self.seed, "every": every} | self.training)
        scheme = scheme_with(self.gates, self.settings)
        return Plan(scheme, training, self.finetune, self.banks, self.weights)


def _followed(learning: Learning, workspace: Workspace) -> Iterator[Step]:
    """The steps of both trainings, with checkpoints; points that are missing are told first."""
    from headscope.pruning.training.fine_tuning import save_state

    total, told = (
        learning.total + N_JUDGED * len(REPORTED),
        {(point["phase"], point["step"]) for point in workspace.points},
    )
    yield Step(learning.done, total)
    for record in learning.history:
        yield Step(learning.done, total, _point(record, told))
    saved = time.monotonic()
    for record in learning.steps():
        if record.value is not None or time.monotonic() - saved > SECONDS_BETWEEN_CHECKPOINTS:
            save_state(learning.state(), workspace.folder / CHECKPOINT)
            saved = time.monotonic()
        yield Step(learning.done, total, _point(record, told))
    save_state(learning.state(), workspace.folder / CHECKPOINT)


def _point(record: Record, told: set[tuple[str, int]]) -> dict[str, Any] | None:
    """A point, unless there is nothing to tell or it was told before."""
    return record.to_json() if record.tells and (record.phase, record.step) not in told else None


def _write(learned: Learned, workspace: Workspace) -> None:
    """The smaller model, written for `headscope.models.loading.loader`."""
    import shutil

    from headscope.pruning.export.exporter import save_pruned

    shutil.rmtree(workspace.folder / MODEL, ignore_errors=True)
    save_pruned(learned.smaller, workspace.folder / MODEL)


def _reported(head_model: HeadModel, learned: Learned, task: Task, trained: int, n: int | None) -> Steps:
    """The headline metric on the first n examples of both splits, a step each.

    `before` is the model as it was given, `mask_alone` the same without the heads, `masked` the model as its weights
    are after the training of the gates, without the heads, and `after` the smaller one in the end.
    """
    from headscope.models.gating import gated

    found: dict[str, Any] = {}
    for number, split in enumerate(REPORTED):
        outcomes: dict[str, Outcomes] = {}
        for name, model, gates in _judged(head_model, learned):
            with gated(model, gates):
                outcomes[name] = task.outcomes(model, split, n)
            yield Step(trained + number * N_JUDGED + len(outcomes), trained + N_JUDGED * len(REPORTED))
        estimates = {name: asdict(task.metrics[0].estimate(one)) for name, one in outcomes.items()}
        found[split] = estimates | {"change": asdict(task.compare(outcomes["before"], outcomes["after"]))}
    return found


def _judged(head_model: HeadModel, learned: Learned) -> list[tuple[str, HeadModel, Any]]:
    from headscope.pruning.masks import HeadMask

    nothing = HeadMask(learned.mask.grid).as_gates(head_model.device)
    gates = learned.mask.as_gates(head_model.device)
    return [
        ("before", head_model, nothing),
        ("mask_alone", head_model, gates),
        ("masked", learned.masked, gates),
        ("after", learned.smaller, nothing),
    ]
