"""Priors that are trained once for several trials: what they prune, and how, comes after their training."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from headscope.models.loading.loader import load
from headscope.pruning.fiak.course import JUDGED, PRIORS, Course
from headscope.pruning.training.fine_tuning import kept_state, save_state
from headscope.runs.kinds.fiak import CHECKPOINT, FiakRun
from headscope.runs.store import Store
from headscope.tasks.task_selection import chosen_task

SECONDS_BETWEEN_CHECKPOINTS = 60.0
TRAINED, UNDER_WAY = "trained.pt", "under-way.pt"

Between = Callable[[int, int], None]


def prime(kind: FiakRun, store: Store, between: Between) -> None:
    """Gives a run that has not begun the checkpoint of the moment at which its priors are trained and measured.

    Training depends on the seed and the number of the step alone, so the result is the one it would have anyway.
    """
    run = kind.as_run(store.folder)
    if run.folder.exists():
        return
    trained = _trained(kind, store.folder, between)
    run.folder.mkdir()
    shutil.copy(trained, run.folder / "copied.partial")
    (run.folder / "copied.partial").rename(run.folder / CHECKPOINT)


def _trained(kind: FiakRun, home: Path, between: Between) -> Path:
    """The checkpoint, made now or found; runs that differ only in what they prune have the same."""
    alike = replace(kind, scores=0.5, keys=0.5, shared="head", by="prior", among="layer", steps_tuning=1)
    folder = home / "priors" / alike.as_run(home).id
    if (folder / TRAINED).exists():
        return folder / TRAINED
    folder.mkdir(parents=True, exist_ok=True)
    head_model = load(kind.model)
    task, _ = chosen_task(head_model, kind.task, kind.data, kind.columns)
    course = Course(head_model, task, kind.plan())
    state = kept_state(folder / UNDER_WAY, lambda _: None)
    if state is not None:
        course.load(state)
    saved = time.monotonic()
    for _ in course.steps():
        between(course.done, course.total)
        if set(course.measured.get(PRIORS, ())) == set(JUDGED):
            break
        if time.monotonic() - saved > SECONDS_BETWEEN_CHECKPOINTS:
            save_state(course.state(), folder / UNDER_WAY)
            saved = time.monotonic()
    save_state(course.state(), folder / TRAINED)
    (folder / UNDER_WAY).unlink(missing_ok=True)
    return folder / TRAINED
