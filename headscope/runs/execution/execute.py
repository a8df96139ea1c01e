"""Runs one run to its end, whatever the end may be."""

from __future__ import annotations

import errno
import logging
import platform
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from functools import partial
from importlib.metadata import version
from typing import Any

from headscope.models.pausing import may_pause, pausing
from headscope.models.text import is_panic, shown
from headscope.runs.data_dir import check_room
from headscope.runs.execution.model_cache import ModelCache
from headscope.runs.execution.preemption import Preemption
from headscope.runs.kind import Step, Steps, Workspace, kind_of
from headscope.runs.policy.access_policy import check_access
from headscope.runs.policy.owner import acting_for
from headscope.runs.ray.address import ray_address
from headscope.runs.ray.moved_run import moved
from headscope.runs.run import CANCELLED, DONE, FAILED, QUERY, STOPPED, Cancelled, Run
from headscope.runs.store import Store

SECONDS_BETWEEN_WRITES = 0.2
SECONDS_BETWEEN_TRIES = 2.0
MOST_TRIES = 20
RECORDED = ("torch", "transformers", "streamlit", "captum", "sacrebleu")

log = logging.getLogger("headscope.jobs")


def execute(store: Store, run: Run, models: ModelCache, between: Callable[[], None] = lambda: None) -> None:
    """Does the work of a run that this process has claimed, and writes down how it ended.

    Points are written at most a fraction of a second after they were found, those of a question at once, so a kill
    costs little; `between` is called after every step. A run that is cancelled ends inside a step where it can, and a
    long one stands still there while a question waits; see headscope/runs/execution/preemption.py.
    """
    try:
        run.folder.mkdir(parents=True, exist_ok=True)
        check_room(store.folder)
        kind = kind_of(run)
        store.note(run.id, _record(run))
        with acting_for(run.owner or None), pausing(Preemption(store, run)):
            check_access(run.spec, store.folder)
            say, is_wanted = partial(store.say, run.id), partial(store.is_wanted, run.id)
            workspace = Workspace(models, run.folder, store.points(run.id), say, is_wanted)
            steps = moved(kind, workspace) if kind.movable and ray_address() else kind.steps(workspace)
            with closing(steps):
                result = _follow(store, run, steps, between)
    except (ValueError, KeyError) as error:
        _end(store, run, FAILED, str(error.args[0] if isinstance(error, KeyError) and error.args else error))
    except OSError as error:
        state, message = _trouble(error)
        if state == STOPPED:  # nothing that a traceback explains
            log.warning("run %s: %s", run.id, message)
        else:
            log.exception("run %s", run.id)
        _end(store, run, state, message)
    except (KeyboardInterrupt, Cancelled) as error:
        _end(store, run, CANCELLED)
        if isinstance(error, KeyboardInterrupt):
            raise
    except BaseException as error:
        if not isinstance(error, Exception) and not is_panic(error):
            raise
        log.exception("run %s", run.id)
        _end(store, run, FAILED, _surprise(error))
    else:
        _end(store, run, *result)
        if kind.kept:
            _back_up(store)


def _end(store: Store, run: Run, *how: Any) -> None:
    """Writes down how a run ended, again and again while the store is locked or has no room.

    After many tries the error passes and ends the worker; whoever comes next finds the run and takes it up.
    """
    for attempt in range(MOST_TRIES - 1):
        try:
            store.end(run.id, *how)
        except OSError as error:
            if not attempt:
                log.warning("run %s is %s, which cannot be written down yet: %s", run.id, how[0], error)
            time.sleep(SECONDS_BETWEEN_TRIES)
        else:
            return
    store.end(run.id, *how)


def _follow(store: Store, run: Run, steps: Steps, between: Callable[[], None]) -> tuple[str, str, Any]:
    """Takes step after step until the work is done or somebody cancels it."""
    waiting: list[dict[str, Any]] = []
    written = 0.0
    while True:
        try:
            may_pause()
            step: Step = next(steps)
        except StopIteration as stop:
            if waiting:
                store.advance(run.id, step.done, step.total, waiting)
            return DONE, "", stop.value
        except Exception:
            if waiting:  # what was found before is not lost with what went wrong
                store.advance(run.id, step.done, step.total, waiting)
            raise
        if step.point is not None:
            waiting.append(step.point)
        awaited = run.lane == QUERY and waiting
        if awaited or time.monotonic() - written > SECONDS_BETWEEN_WRITES:
            check_room(store.folder)
            if not store.advance(run.id, step.done, step.total, waiting):
                return CANCELLED, "", None
            waiting, written = [], time.monotonic()
        between()


def _trouble(error: OSError) -> tuple[str, str]:
    """A full disk or a locked store stops a run, which can go on later; anything else fails it."""
    if error.errno is None:  # in words of our own
        return STOPPED, str(error)
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return STOPPED, "the disk is full; what was computed is kept: make room and resume the run"
    return FAILED, f"{error.strerror or error}: {shown(str(error.filename or ''), 200)}".rstrip(": ")


def _back_up(store: Store) -> None:
    """What is finished is also in a second file; that there is none is no reason for a run to fail."""
    try:
        store.back_up()
    except (OSError, sqlite3.Error):
        log.exception("no backup of %s", store.path)


def _surprise(error: BaseException) -> str:
    """What nobody foresaw, in one sentence."""
    from headscope.models.devices import is_out_of_memory

    if is_out_of_memory(error):
        return "not enough memory, even for one example at a time; take a smaller model or shorter examples"
    return (
        f"unexpected {type(error).__name__}: {shown(str(error).partition(chr(10))[0], 200)}; the worker's log has more"
    )


def _record(run: Run) -> dict[str, Any]:
    """The circumstances of a run."""
    from headscope.models.devices import pick_device

    versions = {name: version(name) for name in RECORDED}
    return {
        "fingerprint": run.fingerprint,
        "seed": run.spec.get("seed", 0),
        "device": str(pick_device("auto")),
        "versions": {"python": platform.python_version(), **versions},
    }
