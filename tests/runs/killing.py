"""Runs work in a forked process that is killed, as by a power failure, at any event that Python can tell apart."""

from __future__ import annotations

import os
import signal
import sys
import traceback
from collections.abc import Callable
from typing import Any

SURVIVED, KILLED, RAISED = "survived", "killed", "raised"


def forked(work: Callable[[], None], kill_at: int = 0) -> tuple[str, int]:
    """What became of a process that did the work, and how many events it counted.

    An event is a call or a return of any function, those of C such as the execution of an SQL statement among them. At
    the event of that number, counted from 1, the process kills itself with the signal that nothing can catch.
    """
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        _work_and_leave(work, kill_at, writing)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        told = pipe.read()
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        assert os.WTERMSIG(status) == signal.SIGKILL
        return KILLED, kill_at
    return (SURVIVED if os.WEXITSTATUS(status) == 0 else RAISED), int(told or 0)


def _work_and_leave(work: Callable[[], None], kill_at: int, pipe: int) -> None:
    """Ends the forked process without a word to the test runner that it is a copy of."""
    count = 0

    def counted(frame: Any, event: str, argument: Any) -> None:
        nonlocal count
        del frame, event, argument
        count += 1
        if count == kill_at:
            os.kill(os.getpid(), signal.SIGKILL)

    code = 1
    try:
        sys.setprofile(counted)
        work()
        sys.setprofile(None)
        os.write(pipe, str(count).encode())
        code = 0
    except BaseException:
        sys.setprofile(None)
        traceback.print_exc()
    finally:
        os._exit(code)
