"""Work that a command does as a run, so that the app shows it too and nobody computes it twice."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from headscope.cli.terminal import bar, say, show_progress

if TYPE_CHECKING:
    from headscope.runs.kind import Kind
    from headscope.runs.run import Run
    from headscope.runs.store import Store

LOG = "worker-here.log"
"""Beside the logs of other workers; it is there once something went wrong."""


def finished(store: Store, kind: Kind) -> Run:
    """The run, done in this process or found done; a ValueError where it has no result."""
    from headscope.runs.client import run_here
    from headscope.runs.run import progress_line

    with _logged(store.folder / LOG):
        run = run_here(store, kind, lambda one: show_progress(f"{bar(one.share)} {progress_line(one, time.time())}"))
    show_progress("")
    if run.result is None:
        raise ValueError(run.message or f"the run is {run.state}")
    for one in run.result.get("skipped", ()):
        say(f"skipped {one}")
    return run


@contextmanager
def _logged(path: Path) -> Iterator[None]:
    """Keeps tracebacks of the run out of the terminal."""
    handler = logging.FileHandler(path, encoding="utf-8", delay=True)
    logger = logging.getLogger("headscope.jobs")
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        handler.close()
