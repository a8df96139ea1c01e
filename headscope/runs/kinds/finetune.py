"""Trains a smaller model briefly, so that the heads that stay take over what the others did."""

from __future__ import annotations

import time
from collections.abc import Generator
from dataclasses import asdict, dataclass, field, fields
from typing import TYPE_CHECKING, Any

from headscope.runs.kind import Kind, Step, Steps, Workspace, register
from headscope.runs.run import LONG

if TYPE_CHECKING:
    from headscope.models.head_model import HeadModel
    from headscope.pruning.masks import HeadMask
    from headscope.pruning.training.fine_tuning import FineTuning, Progress
    from headscope.tasks.task import Task

MODEL = "model"
CHECKPOINT = "checkpoint.pt"
SECONDS_BETWEEN_CHECKPOINTS = 20.0
STARTS = {
    "plain": "as the heads leave it",
    "rescaled": "with the heads that stay rescaled by least squares",
    "scratch": "with new weights, as a control",
}
RESCALED = "rescaled"
N_REPAIR = 128
"""Examples that scales are made from."""


@register
@dataclass(frozen=True)
class FinetuneRun(Kind):
    """The model without the masked heads, trained on training examples, stopped by development and reported on test.

    Without any step of training it is only rescaled, where that is the start. The points tell loss, rate and metric on
    the way; the result is a folder beside them that loads as a model.
    """

    mask: str = ""
    task: str = ""
    data: str = ""
    columns: dict[str, str] = field(default_factory=dict)
    start: str = "plain"
    training: dict[str, Any] = field(default_factory=dict)

    key = "finetune"
    command_name = "repair"
    edition = 3
    movable = True

    @property
    def title(self) -> str:
        """The model and what is gone."""
        gone = len(self.mask.split())
        return f"Fine-tuning of {self.model} without {gone} {'head' if gone == 1 else 'heads'}"

    @property
    def arguments(self) -> dict[str, Any]:
        """Steps are an argument of their own."""
        given = super().arguments
        training = dict(given.pop("training"))
        return {**given, "steps": training.pop("steps", None), "training": training}

    @property
    def lane(self) -> str:
        """It takes minutes."""
        return LONG

    def steps(self, workspace: Workspace) -> Steps:
        """A step a training step, from the last checkpoint on; what was told already is not told again."""
        from headscope.pruning.masks import HeadMask
        from headscope.pruning.training.fine_tuning import save_state
        from headscope.tasks.task_selection import chosen_task

        head_model = workspace.load(self.model)
        task, broken = chosen_task(head_model, self.task, self.data, self.columns)
        mask = HeadMask.of(head_model.grid, self.mask)
        tuning = yield from self._tuning(workspace, head_model, task, mask)
        total, told = tuning.settings.steps, {point["step"] for point in workspace.points}
        yield Step(tuning.step, total)
        for progress in tuning.history:
            yield Step(progress.step, total, _point(progress, told))
        saved = time.monotonic()
        for progress in tuning.steps():
            if progress.value is not None or time.monotonic() - saved > SECONDS_BETWEEN_CHECKPOINTS:
                save_state(tuning.state(), workspace.folder / CHECKPOINT)
                saved = time.monotonic()
            yield Step(progress.step, total, _point(progress, told))
        workspace.say("reporting on test")
        tuned = _written(tuning, workspace)
        rescaled = (yield from _rescaled(head_model, task, mask, total)) if self.start == RESCALED else None
        report = _report(head_model, mask, rescaled, tuned, tuning)
        (workspace.folder / CHECKPOINT).unlink()
        return {
            "task": task.title,
            "task_key": task.key,
            "metric": task.metrics[0].name,
            "higher_is_better": task.higher_is_better,
            "folder": MODEL,
            "parameters": tuned.n_parameters,
            "parameters_dense": tuned.n_parameters_dense,
            "steps": tuning.step,
            "best_step": tuning.best_step,
            "stopped_early": tuning.step < total,
            "history": [asdict(progress) for progress in tuning.history],
            "report": report,
            "skipped": [str(row) for row in broken[:20]],
        }

    def _tuning(
        self, workspace: Workspace, head_model: HeadModel, task: Task, mask: HeadMask
    ) -> Generator[Step, None, FineTuning]:
        """The training at its start, or where the last checkpoint left it."""
        from headscope.pruning.surgery import without_heads
        from headscope.pruning.training.fine_tuning import FineTuning, kept_state, reinitialised
        from headscope.pruning.training.settings import RepairSettings

        if self.start not in STARTS:
            raise ValueError(f"no start {self.start!r}; allowed are {', '.join(STARTS)}")
        try:
            settings = RepairSettings(**self.training)
        except TypeError as error:
            known = ", ".join(one.name for one in fields(RepairSettings))
            raise ValueError(f"training settings {', '.join(self.training)}; known are {known}") from error
        state = kept_state(workspace.folder / CHECKPOINT, workspace.say)
        smaller = without_heads(head_model, mask)
        if self.start == "scratch":
            smaller = reinitialised(smaller, settings.seed)
        elif self.start == RESCALED and state is None:
            workspace.say("rescaling the heads that stay")
            smaller = yield from _rescaled(head_model, task, mask, settings.steps)
        tuning = FineTuning(smaller, task, settings)
        if state is not None:
            tuning.load(state)
        return tuning


def _rescaled(head_model: HeadModel, task: Task, mask: HeadMask, total: int) -> Generator[Step, None, HeadModel]:
    """The smaller model with the heads that stay rescaled, the same every time; a step a layer."""
    from headscope.pruning.training.rescaling import folded, repair

    fits = repair(head_model, task, mask, N_REPAIR)
    while True:
        try:
            next(fits)
        except StopIteration as end:
            return folded(head_model, mask, end.value)
        yield Step(0, total)


def _point(progress: Progress, told: set[int]) -> dict[str, Any] | None:
    """A point, unless there is nothing to tell or it was told before."""
    if not progress.tells or progress.step in told:
        return None
    return asdict(progress)


def _written(tuning: FineTuning, workspace: Workspace) -> HeadModel:
    """The best model, written for `headscope.models.loading.loader`."""
    import shutil

    from headscope.pruning.export.exporter import save_pruned

    tuned = tuning.best()
    shutil.rmtree(workspace.folder / MODEL, ignore_errors=True)
    save_pruned(tuned, workspace.folder / MODEL)
    return tuned


def _report(
    head_model: HeadModel, mask: HeadMask, rescaled: HeadModel | None, tuned: HeadModel, tuning: FineTuning
) -> dict[str, Any]:
    """The headline metric on test: of the unpruned model, without the heads, rescaled if so, and after training."""
    from headscope.models.gating import gated

    task, n = tuning.task, tuning.settings.n_judged
    with gated(head_model, mask.as_gates(head_model.device)):
        pruned = task.outcomes(head_model, "test", n)
    unpruned, after = (task.outcomes(model, "test", n) for model in (head_model, tuned))
    estimates = {"unpruned": unpruned, "pruned": pruned}
    if rescaled is not None:
        estimates["rescaled"] = task.outcomes(rescaled, "test", n)
    estimates["tuned"] = after
    return {
        "split": "test",
        **{name: asdict(task.metrics[0].estimate(outcomes)) for name, outcomes in estimates.items()},
        **({} if rescaled is None else {"rescaling": asdict(task.compare(pruned, estimates["rescaled"]))}),
        "gain": asdict(task.compare(pruned, after)),
        "loss": asdict(task.compare(unpruned, after)),
    }
