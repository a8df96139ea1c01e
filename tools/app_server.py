"""Starts the app on a free port of this machine, with a store of its own, for tests, benchmarks and pictures."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from jobs.store import Store
from jobs.workers import running_workers

ROOT = Path(__file__).parents[1]
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

    def __init__(self, home: Path, script: str = "serve.py") -> None:
        self.home = home
        self.script = script
        home.mkdir(parents=True, exist_ok=True)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.address = f"http://127.0.0.1:{self.port}"
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Starts the server, and returns when it answers."""
        options = [f"--server.port={self.port}", "--server.headless=true"]
        with (self.home / "server.log").open("a") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "streamlit", "run", self.script, *options],
                cwd=ROOT,
                stdout=log,
                stderr=log,
                env=os.environ | {"HEADLIGHT_HOME": str(self.home)},
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
def running_server(home: Path, script: str = "serve.py") -> Iterator[AppServer]:
    """A fresh server, which ends with the context and takes its workers with it."""
    server = AppServer(home, script)
    try:
        server.start()
        yield server
    finally:
        server.end()
        server.end_workers()


def _wait_until_healthy(port: int) -> None:
    until = time.monotonic() + SECONDS_TO_START
    while time.monotonic() < until:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/_stcore/health", timeout=2):
                return
        except OSError:
            time.sleep(0.25)
    raise TimeoutError(f"the app did not start within {SECONDS_TO_START} seconds")
