"""How pages and the command line ask for runs."""

from __future__ import annotations

import time
from collections.abc import Callable

from headscope.runs.execution.execute import execute
from headscope.runs.execution.model_cache import ModelCache
from headscope.runs.execution.process import Identity
from headscope.runs.execution.workers import supervise
from headscope.runs.kind import Kind
from headscope.runs.policy.owner import acting_for
from headscope.runs.run import FAILED, QUERY, Run
from headscope.runs.store import Store

SECONDS_BETWEEN_POLLS = 0.015, 0.1
"""At first, and at most: many pages that wait at once would otherwise keep the server busy with looking."""


def submit(store: Store, kind: Kind) -> Run:
    """Asks for a run; one that was asked for before is found again, finished or not.

    Only a question that failed is asked anew by itself, unless its workers died of it; other runs are resumed by
    somebody who wants that. A ValueError says why a run is not taken: see headscope/runs/policy/access_policy.py and
    headscope/runs/policy/limits.py.
    """
    with acting_for(store.owner):
        asked = kind.as_run(store.folder)
    run = store.submit(asked, kind.kept, limited=True)
    if run.state == FAILED and run.lane == QUERY and not store.is_given_up(run.id):
        store.resume(run.id, limited=True)
        run = store.get(run.id)
    if not run.ended:
        supervise(store)
    return run


def wait(store: Store, run: Run, seconds: float, enough: Callable[[Run], bool] = lambda _: False) -> Run:
    """The run once it has ended or is `enough`, or as it is after so many seconds."""
    until = time.monotonic() + seconds
    pause, longest = SECONDS_BETWEEN_POLLS
    while not run.ended and not enough(run) and time.monotonic() < until:
        time.sleep(pause)
        pause = min(1.5 * pause, longest)
        run = store.get(run.id)
    return run


def run_here(store: Store, kind: Kind, watch: Callable[[Run], None] = lambda _: None) -> Run:
    """Does the work in this process, visible to all others; a run that another process has is waited for.

    A run that ended short of its aim goes on with the points it has. `watch` is shown the run again and again.
    """
    store.recover()
    run = store.submit(kind.as_run(store.folder), kind.kept)
    store.resume(run.id)
    claimed = store.claim_one(run.id, Identity.own())
    if claimed is not None:
        execute(store, claimed, ModelCache(), lambda: watch(store.get(run.id)))
    now = store.get(run.id)
    while not now.ended:
        watch(now)
        now = wait(store, now, 1.0)
        store.recover()
    return now
