"""The app, in a browser of this machine."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from headscope.cli.command import Answer, Command, register

PACKAGE = Path(__file__).parents[2]
SERVER = "headscope.web.app.asgi"
SETTINGS = (PACKAGE / "settings" / "config.toml", PACKAGE.parent / ".streamlit" / "config.toml")
"""Where the settings of Streamlit lie: in the package where it is installed, else at the top of the checkout."""


@register
class App(Command):
    """Streamlit with our server, our pages and our settings."""

    name = "app"
    about = "open the app in a browser"

    def arguments(self, parser: ArgumentParser) -> None:
        """The port."""
        parser.add_argument("--port", type=int, default=0, metavar="NUMBER", help="where it listens (default: 8501)")

    def run(self, options: Namespace) -> Answer:
        """Starts the interactive worker, so that it is there when the first page asks, and becomes the server."""
        from headscope.runs.execution.process import python_command, python_environment
        from headscope.runs.execution.workers import ensure_workers
        from headscope.runs.store import Store

        if not 0 <= options.port <= 65535:
            raise ValueError(f"--port {options.port}; allowed is a number from 1 to 65535")
        server = _place_of(SERVER)
        ensure_workers(Store(), ["interactive"])
        variables = variables_of(tomllib.loads(next(one for one in SETTINGS if one.is_file()).read_text("utf-8")))
        environment = variables | python_environment()
        port = [f"--server.port={options.port}"] if options.port else []
        command = [*python_command("streamlit"), "run", server, *port]
        if os.name == "posix":
            sys.stdout.flush()
            os.execve(command[0], command, environment)  # so that a signal to end reaches the server itself
        sys.exit(subprocess.call(command, env=environment))


def variables_of(settings: dict[str, Any]) -> dict[str, str]:
    """The variables by which Streamlit is told these settings; those of the shell that are set go before them."""
    return {f"STREAMLIT_{key}": value for key, value in _flat(settings, ())}


def _flat(settings: dict[str, Any], above: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    for name, value in settings.items():
        spelt = re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=.)(?=[A-Z][a-z])", "_", name)  # postScriptGC is POST_SCRIPT_GC
        path = (*above, spelt.upper())
        if isinstance(value, dict):
            yield from _flat(value, path)
        else:
            yield "_".join(path), _text(value, path[0])


def _text(value: Any, section: str) -> str:
    """As Streamlit reads it: JSON, but for lists outside of themes words with spaces between them."""
    if isinstance(value, str):
        return value
    return " ".join(value) if isinstance(value, list) and section != "THEME" else json.dumps(value)


def _place_of(module: str) -> str:
    """The file of a module that is not imported here; a ValueError where Streamlit is missing."""
    found = find_spec(module) if find_spec("streamlit") else None
    if found is None or found.origin is None:
        raise ValueError("the app needs Streamlit: pip install 'headscope[app]'")
    return found.origin
