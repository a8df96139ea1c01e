"""python -m tests.docs.open_page FILE PLACE: opens the Importance page, puts FILE in its place, and looks again.

Runs in a copy of the project, with real workers, and says whether the method was offered before and after.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from streamlit.testing.v1 import AppTest

from headscope.runs.execution.workers import running_workers
from headscope.runs.store import Store

TITLE = "Relative gradient"
PATIENCE = 400.0
"""Seconds, for a machine that is busy with other tests."""


def main() -> None:
    """The page before and after."""
    source, target = map(Path, sys.argv[1:])
    app = AppTest.from_file(str(Path("app.py").resolve()), default_timeout=PATIENCE)
    app.query_params["model"] = "looker"
    app.run()
    app.switch_page("pages/importance.py")
    until(app, lambda: bool(options(app)))
    say(f"offered before: {TITLE in options(app)}")
    shutil.copyfile(source, target)
    until(app, lambda: TITLE in options(app))
    say(f"offered after: {TITLE in options(app)}")


def until(app: AppTest, holds: Callable[[], bool]) -> None:
    """Runs the page again and again, as its own fragments would, until something holds."""
    end = time.monotonic() + PATIENCE
    while not holds():
        if time.monotonic() > end:
            raise TimeoutError(f"only {options(app)}")
        time.sleep(0.3)
        app.run()
        for problem in [*app.exception, *app.error]:
            say(f"problem: {problem.value}")


def options(app: AppTest) -> list[str]:
    """The methods that can be chosen, as soon as the page has them."""
    return [title for box in app.selectbox if box.key == "method" for title in box.options]


def say(line: str) -> None:
    """For whoever runs this."""
    sys.stdout.write(f"{line}\n")


if __name__ == "__main__":
    try:
        main()
    finally:
        for worker in running_workers(Store()).values():
            with suppress(ProcessLookupError):
                os.kill(worker.pid, signal.SIGKILL)
