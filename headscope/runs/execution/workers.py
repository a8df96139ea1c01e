"""Keeps the worker processes alive: one interactive worker, and as many batch workers as there are slots.

`python -m headscope.runs.execution.workers` starts the interactive worker, so that it is there when the first page
asks.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from headscope.runs.data_dir import check_room, write_whole
from headscope.runs.execution.process import Identity, python_command, python_environment
from headscope.runs.run import SERVED
from headscope.runs.store import Store

_LOCK = threading.Lock()


def slots() -> int:
    """How many long runs may run at once: HEADSCOPE_SLOTS, by default 1."""
    given = os.environ.get("HEADSCOPE_SLOTS") or "1"
    if not given.isdecimal() or not 1 <= int(given) <= 64:
        raise ValueError(f"HEADSCOPE_SLOTS is {given!r}; allowed is a whole number from 1 to 64")
    return int(given)


def supervise(store: Store) -> None:
    """Takes up what dead workers left, and starts the workers that waiting runs need."""
    store.recover()
    roles = [role for role, lanes in SERVED.items() if store.waiting(lanes)]
    if roles:
        ensure_workers(store, roles)


def ensure_workers(store: Store, roles: Sequence[str]) -> None:
    """Starts the workers of these roles that do not run."""
    places = [f"{role}-{number}" for role in roles for number in range(slots() if role == "batch" else 1)]
    with _LOCK, _only_one_process(store.folder / "workers.lock"):
        path = store.folder / "workers.json"
        known = _read(path)
        missing = [place for place in places if place not in known or not known[place].alive]
        if missing:
            check_room(store.folder)  # a worker that nobody can note down would be started again and again
            known |= {place: _start(store, place) for place in missing}
            write_whole(path, json.dumps({place: str(identity) for place, identity in known.items()}).encode())


def running_workers(store: Store) -> dict[str, Identity]:
    """The workers that run now, by their place."""
    return {place: identity for place, identity in _read(store.folder / "workers.json").items() if identity.alive}


def _start(store: Store, place: str) -> Identity:
    """A worker in a process group of its own, which outlives the server."""
    role = place.partition("-")[0]
    with (store.folder / f"worker-{place}.log").open("ab") as log:
        process = subprocess.Popen(
            [*python_command("headscope.runs.execution.worker"), role, str(store.folder)],
            env=python_environment(),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            process_group=0,
        )
    threading.Thread(target=process.wait, daemon=True).start()  # leaves no zombie behind
    return Identity.of(process.pid)


def _read(path: Path) -> dict[str, Identity]:
    try:
        record = json.loads(path.read_text())
        return {str(place): Identity.parse(identity) for place, identity in record.items()}
    except (OSError, ValueError, AttributeError):
        return {}


@contextmanager
def _only_one_process(path: Path) -> Iterator[None]:
    """Holds a lock file; where the system has no such locks, the thread lock must do."""
    with path.open("a") as file:
        try:
            import fcntl
        except ImportError:
            yield
            return
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


if __name__ == "__main__":  # ahead of the server: the interactive worker takes seconds to start
    try:
        ensure_workers(Store(), ["interactive"])
    except (OSError, ValueError) as error:
        sys.exit(f"Headscope cannot start: {error}")
