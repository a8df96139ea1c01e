"""python -m tools.try_container: builds the image, runs it as docs/deployment.md says, and checks what that promises.

Takes docker or podman, whichever answers. Exit code 0 if all holds, 1 if something does not, 2 if there is neither.
"""

from __future__ import annotations

import http.client
import json
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlencode
from uuid import uuid4

ROOT = Path(__file__).parents[1]
ENGINES = {"docker": (), "podman": ("--format", "docker")}
"""What each needs to build: the format that podman prefers has no health check."""

IMAGE = "headscope-try"
LIMITS = {
    "read_only": ["--read-only"],
    "tmpfs": ["--tmpfs=/tmp"],
    "cap_drop": ["--cap-drop=ALL"],
    "security_opt": ["--security-opt=no-new-privileges"],
    "init": ["--init"],
    "mem_limit": ["--memory=8g"],
    "pids_limit": ["--pids-limit=512"],
}
"""The keys of the compose file, and how an engine is told the same."""

USER, PASSWORD = "ada", "correct horse battery"
SECONDS_TO_START = 120
WRITES = "for place in / /app /venv /etc; do touch $place/x 2>/dev/null && echo $place; done; touch /tmp/x /data/x"
COMPUTES = "python -m headscope importance looker --method gradient --n 32"


class Engine:
    """Docker or podman, with one image and one volume."""

    def __init__(self, program: str) -> None:
        self.program = program
        self.volume = f"headscope-try-{uuid4().hex[:8]}"

    def ask(self, *words: str, given: str = "") -> str:
        """What it prints; a ValueError with its complaint where it fails."""
        done = subprocess.run([self.program, *words], input=given, capture_output=True, text=True, check=False)
        if done.returncode:
            raise ValueError(f"{self.program} {shlex.join(words)} failed: {done.stderr.strip() or done.stdout.strip()}")
        return done.stdout.strip()

    def options(self) -> list[str]:
        """Of every container that is run."""
        return [*(word for words in LIMITS.values() for word in words), f"--volume={self.volume}:/data"]

    @contextmanager
    def running(self, **settings: str) -> Iterator[tuple[str, str]]:
        """A container of the image and its address, removed afterwards."""
        variables = [f"--env={name}={value}" for name, value in settings.items()]
        name = self.ask("run", "--detach", "--publish=127.0.0.1::8501", *self.options(), *variables, IMAGE)
        try:
            yield name, self.ask("port", name, "8501/tcp").splitlines()[0]
        finally:
            self.ask("rm", "--force", name)


def main() -> int:
    """Prints a line for each promise that holds."""
    found = next((one for one in ENGINES if shutil.which(one) and _answers(one)), None)
    if found is None:
        print(f"try_container: needs one of {', '.join(ENGINES)}, and none answers", file=sys.stderr)
        return 2
    engine = Engine(found)
    try:
        engine.ask("build", *ENGINES[found], "--tag", IMAGE, str(ROOT))
        size = int(engine.ask("image", "inspect", "--format={{.Size}}", IMAGE)) / 1e9
        print(f"built: {size:.2f} GB")
        _with_a_login(engine)
        _as_a_demo(engine)
    except ValueError as error:
        print(f"try_container: {error}", file=sys.stderr)
        return 1
    finally:
        subprocess.run([found, "volume", "rm", engine.volume], capture_output=True, check=False)
    return 0


def _with_a_login(engine: Engine) -> None:
    line = f"python -m headscope password {USER} >> /data/users"
    engine.ask("run", "--rm", "--interactive", *engine.options(), IMAGE, "sh", "-c", line, given=f"{PASSWORD}\n")
    begun = time.monotonic()
    with engine.running(HEADSCOPE_LOGIN="password") as (name, address):
        _wait_until_healthy(engine, name)
        print(f"healthy after {time.monotonic() - begun:.0f} s")
        _hold("it runs as user 10001", engine.ask("exec", name, "id", "-u"), "10001")
        status = engine.ask("exec", name, "cat", "/proc/1/status").split("CapBnd:")[1].split()
        _hold(
            "it has no capability and gets none",
            (int(status[0], 16), status[status.index("NoNewPrivs:") + 1]),
            (0, "1"),
        )
        _hold("only /data and /tmp can be written", engine.ask("exec", name, "sh", "-c", WRITES), "")
        form = urlencode({"name": USER, "password": PASSWORD, "next": "/"})
        status_code, cookie = _answer(address, "POST", "/sign-in", form)
        _hold("who was added signs in", (status_code, cookie.partition("=")[0]), (303, "headscope_user"))
        word = cookie.partition(";")[0]
        _hold("and sees a page", _answer(address, "GET", "/", cookie=word)[0], 200)
        _hold("others do not", _answer(address, "GET", "/")[0], 401)
        engine.ask("exec", name, "sh", "-c", COMPUTES)
        print("a run ends: " + COMPUTES)


def _as_a_demo(engine: Engine) -> None:
    with engine.running(HEADSCOPE_DEMO="1") as (name, address):
        _wait_until_healthy(engine, name)
        _hold("a demo shows a page", _answer(address, "GET", "/")[0], 200)
        _hold("and takes no file", _answer(address, "PUT", "/_stcore/upload_file/a/b")[0], 403)


def _hold(what: str, found: object, wanted: object) -> None:
    if found != wanted:
        raise ValueError(f"{what}? no: {found!r}, not {wanted!r}")
    print(what)


def _wait_until_healthy(engine: Engine, name: str) -> None:
    """Asks as the image's own health check does, until it says yes."""
    test = json.loads(engine.ask("image", "inspect", "--format={{json .Config.Healthcheck.Test}}", IMAGE))
    until = time.monotonic() + SECONDS_TO_START
    while True:
        try:
            engine.ask("exec", name, *test[1:])
            return
        except ValueError:
            if time.monotonic() > until:
                raise
            time.sleep(1)


def _answer(address: str, method: str, path: str, form: str = "", cookie: str = "") -> tuple[int, str]:
    """The status, and the cookie that is set."""
    connection = http.client.HTTPConnection(address, timeout=30)
    headers = {"Cookie": cookie, "Content-Type": "application/x-www-form-urlencoded"}
    connection.request(method, path, form or None, headers)
    answer = connection.getresponse()
    connection.close()
    return answer.status, answer.getheader("Set-Cookie", "")


def _answers(engine: str) -> bool:
    return subprocess.run([engine, "info"], capture_output=True, check=False).returncode == 0


if __name__ == "__main__":
    sys.exit(main())
