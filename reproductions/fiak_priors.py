"""Priors that are trained once for several FiAK runs: what they prune, and how, comes after the training."""

from __future__ import annotations

import shutil
import sys
from dataclasses import replace
from pathlib import Path

from headscope.models.loading.loader import load
from headscope.pruning.fiak.course import JUDGED, PRIORS, Course
from headscope.pruning.training.fine_tuning import save_state
from headscope.runs.kinds.fiak import CHECKPOINT, FiakRun
from headscope.runs.store import Store
from headscope.tasks.task_selection import chosen_task


def primed(kind: FiakRun) -> FiakRun:
    """The same run; if it has not begun, it gets the checkpoint of the moment at which its priors are trained.

    Training depends on the seed and the number of the step alone, so the result is the one it would have anyway.
    """
    store = Store()
    run = kind.as_run(store.folder)
    if not run.folder.exists():
        state = _trained(kind, store.folder)
        run.folder.mkdir()
        shutil.copy(state, run.folder / CHECKPOINT)
    return kind


def _trained(kind: FiakRun, folder: Path) -> Path:
    """The checkpoint, made now or found; runs that differ only in what they prune have the same."""
    alike = replace(kind, scores=0.5, keys=0.5, shared="head", by="prior", among="layer", steps_tuning=1)
    path = folder / f"fiak-priors-{alike.as_run(folder).id}.pt"
    if not path.exists():
        print(f"priors of {kind.model}, seed {kind.seed}", file=sys.stderr, flush=True)
        head_model = load(kind.model)
        task, _ = chosen_task(head_model, kind.task, kind.data, kind.columns)
        course = Course(head_model, task, kind.plan())
        for _ in course.steps():
            if set(course.measured.get(PRIORS, ())) == set(JUDGED):
                break
        save_state(course.state(), path)
    return path
