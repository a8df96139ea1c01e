"""Runs one run to its end, whatever the end may be."""

from __future__ import annotations

import errno
import logging
import platform
import sqlite3
import time
from collections.abc import Callable
from functools import partial
from importlib.metadata import version
from typing import Any

from jobs.home import check_room
from jobs.kind import Bench, Step, Steps, kind_of
from jobs.model_shelf import ModelShelf
from jobs.run import CANCELLED, DONE, FAILED, QUESTION, STOPPED, Run
from jobs.store import Store

SECONDS_BETWEEN_WRITES = 0.2
RECORDED = ("torch", "transformers", "streamlit", "captum", "sacrebleu")

log = logging.getLogger("headlight.jobs")


def execute(store: Store, run: Run, models: ModelShelf, between: Callable[[], None] = lambda: None) -> None:
    """Does the work of a run that this process has claimed, and writes down how it ended.

    Points are written at most a fraction of a second after they were found, those of a question at once, so a kill
    costs little; `between` is called after every step.
    """
    try:
        run.folder.mkdir(parents=True, exist_ok=True)
        check_room(store.folder)
        kind = kind_of(run)
        store.note(run.id, _record(run))
        steps = kind.steps(Bench(models, run.folder, store.points(run.id), partial(store.say, run.id)))
        result = _follow(store, run, steps, between)
    except (ValueError, KeyError) as error:
        store.end(run.id, FAILED, str(error.args[0] if error.args else error))
    except (OSError, sqlite3.OperationalError) as error:
        log.exception("run %s", run.id)
        store.end(run.id, *_trouble(error))
    except KeyboardInterrupt:
        store.end(run.id, CANCELLED)
        raise
    except MemoryError:
        store.end(run.id, FAILED, "not enough memory for this model; try a smaller one or fewer examples")
    except Exception as error:
        log.exception("run %s", run.id)
        reason = str(error).partition("\n")[0][:200]
        store.end(run.id, FAILED, f"unexpected {type(error).__name__}: {reason}; the worker's log has more")
    else:
        store.end(run.id, *result)


def _follow(store: Store, run: Run, steps: Steps, between: Callable[[], None]) -> tuple[str, str, Any]:
    """Takes step after step until the work is done or somebody cancels it."""
    waiting: list[dict[str, Any]] = []
    written = 0.0
    while True:
        try:
            step: Step = next(steps)
        except StopIteration as stop:
            if waiting:
                store.advance(run.id, step.done, step.total, waiting)
            return DONE, "", stop.value
        if step.point is not None:
            waiting.append(step.point)
        awaited = run.lane == QUESTION and waiting
        if awaited or time.monotonic() - written > SECONDS_BETWEEN_WRITES:
            check_room(store.folder)
            if not store.advance(run.id, step.done, step.total, waiting):
                steps.close()
                return CANCELLED, "", None
            waiting, written = [], time.monotonic()
        between()


def _trouble(error: OSError | sqlite3.OperationalError) -> tuple[str, str]:
    """A full disk stops a run, which can go on later; anything else fails it."""
    full = isinstance(error, OSError) and error.errno in (None, errno.ENOSPC, errno.EDQUOT)
    if full or "full" in str(error):
        return STOPPED, str(error) if isinstance(error, OSError) and error.errno is None else "the disk is full"
    named = f"{error.strerror or error}: {error.filename or ''}" if isinstance(error, OSError) else str(error)
    return FAILED, named.rstrip(": ")


def _record(run: Run) -> dict[str, Any]:
    """The circumstances of a run."""
    from models.devices import pick_device

    versions = {name: version(name) for name in RECORDED}
    return {
        "fingerprint": run.fingerprint,
        "seed": run.spec.get("seed", 0),
        "device": str(pick_device("auto")),
        "versions": {"python": platform.python_version(), **versions},
    }
