"""python -m headscope.runs.execution.worker interactive | batch: a process that owns models and runs what is asked for.

The interactive worker answers questions and short runs, a question even between two steps of a short run; batch workers
do the long runs. A worker that had nothing to do for a while ends; the next question starts another. One whose
importance methods were changed on the disk starts itself anew before it takes up the next run.
"""

from __future__ import annotations

import argparse
import logging
import os
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from headscope.runs.execution.execute import execute
from headscope.runs.execution.model_cache import ModelCache
from headscope.runs.execution.process import Identity, python_command
from headscope.runs.execution.process_memory import trim
from headscope.runs.kinds.methods import is_outdated
from headscope.runs.run import QUERY, SERVED, Run
from headscope.runs.store import Store

SECONDS_BETWEEN_POLLS = 0.03
SECONDS_BETWEEN_RECOVERIES = 2.0
SECONDS_UNTIL_TRIMMED = 1.0
SECONDS_IDLE = 900.0
SECONDS_UNKEPT = 3600.0
"""Answers that no history lists are forgotten after this time."""

log = logging.getLogger("headscope.jobs")


class Worker:
    """Looks for work in its lanes until there has been none for a while."""

    def __init__(self, store: Store, role: str, seconds_idle: float = SECONDS_IDLE) -> None:
        self.store = store
        self.lanes = SERVED[role]
        self.seconds_idle = seconds_idle
        self.models = ModelCache()
        self.identity = Identity.own()

    def work(self) -> None:
        """Runs what there is to run; returns when idle for long, or when its code is older than that on the disk."""
        busy, recovered, trimmed = time.monotonic(), -SECONDS_BETWEEN_RECOVERIES, True
        while time.monotonic() - busy < self.seconds_idle:
            if is_outdated():
                return
            if time.monotonic() - recovered > SECONDS_BETWEEN_RECOVERIES:
                with self._trying():
                    self.store.recover()
                recovered = time.monotonic()
            if self.work_once():
                busy, trimmed = time.monotonic(), False
                continue
            if not trimmed and time.monotonic() - busy > SECONDS_UNTIL_TRIMMED:
                trim()
                trimmed = True
            time.sleep(SECONDS_BETWEEN_POLLS)
        with self._trying():
            self.store.prune(SECONDS_UNKEPT, kept=False)

    def work_once(self) -> bool:
        """Runs one run, if one waits."""
        run = self._claimed(self.lanes)
        if run is None:
            return False
        log.info("%s %s %s", run.kind, run.id, run.model)
        execute(self.store, run, self.models, self._answer if QUERY in self.lanes else lambda: None)
        return True

    def _answer(self) -> None:
        """Answers one question that came while a run was under way; with old code it waits for the run to end.

        One between two steps, so that a run, which may be somebody's question too, ends however many come.
        """
        if not is_outdated() and (question := self._claimed((QUERY,))) is not None:
            execute(self.store, question, self.models)

    def _claimed(self, lanes: Sequence[str]) -> Run | None:
        """The run that has waited longest, if there is one and the store can be written."""
        with self._trying():
            return self.store.claim(lanes, self.identity)
        return None

    @contextmanager
    def _trying(self) -> Iterator[None]:
        """A locked store or a full disk is no reason to end: it is tried again at the next look."""
        try:
            yield
        except OSError as error:
            log.warning("the store cannot be used now: %s", error)


def main() -> None:
    """Starts one worker."""
    parser = argparse.ArgumentParser(prog="python -m headscope.runs.execution.worker", description=__doc__)
    parser.add_argument("role", choices=sorted(SERVED))
    parser.add_argument("folder", type=Path, help="the folder of the store")
    arguments = parser.parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(process)d %(name)s %(message)s")
    logging.raiseExceptions = False  # a log on a full disk is silent; each failure would write a traceback to it
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl+C in the server's terminal ends the server, not the runs
    if arguments.role == "batch":
        with suppress(OSError):
            os.nice(19)  # a person who waits goes first
    _settle_torch()
    Worker(Store(arguments.folder), arguments.role).work()
    if is_outdated():
        command = [*python_command("headscope.runs.execution.worker"), arguments.role, str(arguments.folder)]
        os.execv(sys.executable, command)


def _settle_torch() -> None:
    """Imports what every run needs, and leaves a core to the interface."""
    import torch
    from transformers.utils import logging as transformers_logging

    transformers_logging.disable_progress_bar()
    transformers_logging.set_verbosity_error()
    torch.set_num_threads(max(1, (os.cpu_count() or 2) - 1))


if __name__ == "__main__":
    main()
