"""Starts the app on a free port of this machine, with a store of its own, for tests, benchmarks and pictures."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from headscope.runs.execution.workers import running_workers
from headscope.runs.store import Store

ROOT = Path(__file__).parents[1]
SERVER = "headscope/web/app/asgi.py"
SECONDS_TO_START = 90
BROWSER_FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


class AppServer:
    """A server that can be killed and started again on the same port; what it computes lies in `home`."""

    def __init__(self, home: Path, script: str = SERVER, environment: Mapping[str, str] | None = None) -> None:
        self.home = home
        self.script = script
        self.environment = dict(environment or {})
        home.mkdir(parents=True, exist_ok=True)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def address(self) -> str:
        """Where the browser finds it."""
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Starts the server, and returns when it answers."""
        options = [f"--server.port={self.port}", "--server.headless=true"]
        with (self.home / "server.log").open("a") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "streamlit", "run", self.script, *options],
                cwd=ROOT,
                stdout=log,
                stderr=log,
                env=os.environ | self.environment | {"HEADSCOPE_HOME": str(self.home)},
            )
        _wait_until_healthy(self.port)

    def end(self, how: int = signal.SIGTERM) -> None:
        """Ends the server; its workers go on."""
        if self.process is not None:
            self.process.send_signal(how)
            self.process.wait(timeout=20)
            self.process = None

    def end_workers(self) -> None:
        """Kills the workers of this server's store."""
        for worker in running_workers(Store(self.home)).values():
            with suppress(ProcessLookupError):
                os.kill(worker.pid, signal.SIGKILL)


@contextmanager
def running_server(
    home: Path, script: str = SERVER, environment: Mapping[str, str] | None = None
) -> Iterator[AppServer]:
    """A fresh server, which ends with the context and takes its workers with it."""
    server = AppServer(home, script, environment)
    try:
        server.start()
        yield server
    finally:
        server.end()
        server.end_workers()


@contextmanager
def shared_server(
    folder: Path,
    prepare: Callable[[Path], object] = Path.exists,
    environment: Mapping[str, str] | None = None,
    script: str = SERVER,
) -> Iterator[AppServer]:
    """One server for all processes that ask for this folder: the first starts it, and ends it after all others.

    `prepare` fills its home before it starts. Every process holds a lock while it uses the server.
    """
    import fcntl  # which Windows lacks

    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "start.lock").open("a") as start, (folder / "use.lock").open("a") as use:
        fcntl.flock(start, fcntl.LOCK_EX)
        home, port = folder / "home", folder / "port"
        if port.exists():
            fcntl.flock(use, fcntl.LOCK_SH)
            fcntl.flock(start, fcntl.LOCK_UN)
            server = AppServer(home, script, environment)
            server.port = int(port.read_text())
            yield server
            return
        if not home.exists():
            home.mkdir()
            prepare(home)
        with running_server(home, script, environment) as server:
            port.write_text(str(server.port))
            fcntl.flock(start, fcntl.LOCK_UN)
            yield server
            fcntl.flock(start, fcntl.LOCK_EX)
            port.unlink()
            fcntl.flock(start, fcntl.LOCK_UN)
            fcntl.flock(use, fcntl.LOCK_EX)  # once all others are done


def _wait_until_healthy(port: int) -> None:
    until = time.monotonic() + SECONDS_TO_START
    while time.monotonic() < until:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/_stcore/health", timeout=2):
                return
        except OSError:
            time.sleep(0.25)
    raise TimeoutError(f"the app did not start within {SECONDS_TO_START} seconds")
