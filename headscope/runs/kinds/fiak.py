"""Prunes attention scores and keys by learned priors, and fine-tunes what is left."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from headscope.runs.kind import Kind, Step, Steps, Workspace, register
from headscope.runs.run import LONG

if TYPE_CHECKING:
    from pathlib import Path

    from headscope.models.head_model import HeadModel
    from headscope.models.heads import HeadId
    from headscope.pruning.fiak.course import Course, Plan
    from headscope.tasks.task import Task

FOLDER = "pruned"
PRIORS = "priors.npz"
CHECKPOINT = "checkpoint.pt"
SECONDS_BETWEEN_CHECKPOINTS = 20.0
JUDGEMENTS = 10
"""How often the model is judged in each of the two trainings."""


@register
@dataclass(frozen=True)
class FiakRun(Kind):
    """FiAK: priors trained with the model on training examples, scores or keys pruned by them, and the rest fine-tuned.

    `scores` and `keys` are fractions, `prior` is pair or key, `shared` head or layer, `by` prior or random (the
    control), `among` layer or query, `form` dot or distance; see pruning/fiak. The heads of `mask` are removed first;
    with the start `scratch`, instead of `trained`, the weights are then drawn anew. `keep_step` says which weights of
    the fine-tuning are kept: the best on development, or the last. The points tell loss, metric and
    histograms of priors on the way. Artefacts: priors and what is kept, written at every judgement, and a folder with
    the pruned model.
    """

    scores: float = 0.7
    keys: float = 0.0
    prior: str = "pair"
    shared: str = "head"
    by: str = "prior"
    among: str = "layer"
    form: str = "dot"
    start: str = "trained"
    mask: str = ""
    steps_priors: int = 200
    steps_tuning: int = 200
    rate: float = 2e-4
    batch: int = 16
    seed: int = 0
    keep_step: str = "best"
    length: int | None = None
    n: int | None = None
    task: str = ""
    data: str = ""
    columns: dict[str, str] = field(default_factory=dict)

    key = "fiak"
    edition = 3
    movable = True
    command_name = "fiak"

    @property
    def title(self) -> str:
        """The model and what goes."""
        parts = [
            f"{share:.0%} of its {what}" for share, what in ((self.scores, "scores"), (self.keys, "keys")) if share
        ]
        control = ", at random" if self.by == "random" else ""
        fresh = ", from the start" if self.start == "scratch" else ""
        return f"FiAK of {self.model}: {' and '.join(parts)}{control}{fresh}"

    @property
    def lane(self) -> str:
        """It takes minutes."""
        return LONG

    @property
    def arguments(self) -> dict[str, Any]:
        """The steps of both trainings are one option there."""
        given = super().arguments
        return given | {"steps": [given.pop("steps_priors"), given.pop("steps_tuning")]}

    def steps(self, workspace: Workspace) -> Steps:
        """A step a training step, from the last checkpoint on; what was told already is not told again."""
        from headscope.pruning.fiak.priors_file import write_priors
        from headscope.pruning.training.fine_tuning import save_state
        from headscope.tasks.task_selection import chosen_task

        head_model = workspace.load(self.model)
        task, broken = chosen_task(head_model, self.task, self.data, self.columns)
        course = self._course(workspace, head_model, task)
        told = {(point["phase"], point["step"]) for point in workspace.points}
        yield Step(course.done, course.total)
        yield from _again(course, told)
        saved = time.monotonic()
        for moment in course.steps():
            judged = moment is None or moment.progress.value is not None
            if judged or time.monotonic() - saved > SECONDS_BETWEEN_CHECKPOINTS:
                save_state(course.state(), workspace.folder / CHECKPOINT)
                saved = time.monotonic()
            if moment is not None and moment.shows_priors:
                write_priors(workspace.folder / PRIORS, course.layers, *course.so_far())
            new = moment is not None and moment.progress.tells and (moment.phase, moment.progress.step) not in told
            yield Step(course.done, course.total, moment.to_json() if new and moment else None)
        workspace.say("comparing the pruned model with the masked one")
        result = _result(course, workspace.folder)
        (workspace.folder / CHECKPOINT).unlink(missing_ok=True)
        return result | {"mask": self.mask, "by": self.by, "skipped": [str(row) for row in broken[:20]]}

    def _course(self, workspace: Workspace, head_model: HeadModel, task: Task) -> Course:
        """The course at its start, or where the last checkpoint left it."""
        from headscope.pruning.fiak.course import Course
        from headscope.pruning.training.fine_tuning import kept_state

        course = Course(head_model, task, self.plan())
        state = kept_state(workspace.folder / CHECKPOINT, workspace.say)
        if state is not None:
            course.load(state)
        return course

    def plan(self) -> Plan:
        """What is done, for `headscope.pruning.fiak.course`."""
        from headscope.pruning.fiak.course import Plan
        from headscope.pruning.fiak.pruning_choice import Choice
        from headscope.pruning.training.settings import Settings

        choice = Choice(self.scores, self.keys, self.prior, self.shared, self.by, self.among)
        priors, tuning = (
            Settings(
                steps,
                self.rate,
                self.batch,
                every=max(1, steps // JUDGEMENTS),
                seed=self.seed,
                keep_step=self.keep_step,
            )
            for steps in (self.steps_priors, self.steps_tuning)
        )
        return Plan(choice, self.form, self.length, priors, tuning, self.n, self.mask, self.start)


def in_order(heads: Iterable[HeadId]) -> str:
    """The addresses in one order, so that the same heads are the same run."""
    return " ".join(str(head) for head in sorted(set(heads)))


def _again(course: Course, told: set[tuple[str, int]]) -> Iterator[Step]:
    """What a checkpoint knows and the store lost."""
    for moment in course.told:
        if (moment.phase, moment.progress.step) not in told:
            yield Step(course.done, course.total, moment.to_json())


def _result(course: Course, folder: Path) -> dict[str, Any]:
    """Writes the artefacts and tells everything that was found."""
    from headscope.pruning.fiak.model_folder import save_without_scores
    from headscope.pruning.fiak.priors_file import write_priors
    from headscope.pruning.fiak.savings import savings
    from headscope.pruning.fiak.summary import head_means

    pruned, task = course.result(), course.task
    write_priors(folder / PRIORS, course.layers, course.priors, course.kept)
    save_without_scores(pruned, course.layers, course.kept, course.plan.form, folder / FOLDER)
    headless = course.headless if course.plan.mask else None
    saved = savings(course.dense, pruned, course.layers, course.kept, headless)
    return {
        "task": task.title,
        "task_key": task.key,
        "split": "training" if task.fresh else "calibration",
        "n": course.training.rounds.n_seen(course.plan.priors.steps),
        "metric": task.metrics[0].name,
        "higher_is_better": task.higher_is_better,
        "measured": course.measured,
        "change": {split: asdict(course.comparison(split)) for split in ("development", "test")},
        "diversity": course.diversity,
        "savings": saved.to_json(),
        "difference": course.difference(pruned),
        "heads": {str(head): mean for head, mean in head_means(course.layers, course.priors).items()},
        "layers": [
            {"name": layer.name, "heads": list(layer.heads), "length": layer.length, "initial": layer.initial}
            for layer in course.layers
        ],
        "best_step": course.tuning.best_step if course.tuning else 0,
        "folder": FOLDER,
        "priors": PRIORS,
    }
