"""Runs programs in processes of their own that need not import torch and transformers again.

They are forked from a process that has both and nothing of the project. So a program finds the project as a shell would
start it, without the checks of annotations that hold in the tests. A program that must not have torch, or reads the
environment before torch does, is started by `subprocess` instead.
"""

from __future__ import annotations

import atexit
import json
import os
import runpy
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any


def run(
    *words: str, cwd: Path, code: str = "", environment: Mapping[str, str] = MappingProxyType({})
) -> subprocess.CompletedProcess[str]:
    """What `python -m` does with these words in a folder; with `code`, what `python -c` does."""
    with tempfile.TemporaryDirectory() as folder:
        out, err = Path(folder, "out"), Path(folder, "err")
        ask = {
            "words": words,
            "code": code,
            "cwd": str(cwd),
            "out": str(out),
            "err": str(err),
            "env": {**os.environ, **environment},
        }
        parent = _parent()
        assert parent.stdin is not None
        assert parent.stdout is not None
        parent.stdin.write(json.dumps(ask) + "\n")
        parent.stdin.flush()
        ended = int(parent.stdout.readline())
        return subprocess.CompletedProcess(words or code, ended, out.read_text(), err.read_text())


@cache
def _parent() -> subprocess.Popen[str]:
    parent = subprocess.Popen(
        [sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=tempfile.gettempdir()
    )
    atexit.register(parent.communicate)  # closes its input, which ends it
    return parent


def _serve() -> None:
    """Forks a child for every line of the input and writes how it ended."""
    import torch  # noqa: F401
    import transformers.generation
    import transformers.modeling_utils

    transformers.utils.logging.disable_progress_bar()  # as the settings of the command line do where it comes first
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            _become(json.loads(line))
        _, status = os.waitpid(child, 0)
        sys.stdout.write(f"{os.waitstatus_to_exitcode(status)}\n")
        sys.stdout.flush()


def _become(ask: dict[str, Any]) -> None:
    """Turns this process into the one that was asked for."""
    ended: Any = 0
    try:
        os.environ.clear()
        os.environ.update(ask["env"])
        os.chdir(ask["cwd"])
        for number, path in enumerate(("/dev/null", ask["out"], ask["err"])):
            os.dup2(os.open(path, os.O_RDWR | os.O_CREAT), number)
        _execute(ask["code"], ask["words"])
    except SystemExit as end:
        ended = end.code
        if isinstance(ended, str):
            sys.stderr.write(f"{ended}\n")
    except BaseException:
        traceback.print_exc()
        ended = 1
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(ended if isinstance(ended, int) else int(ended is not None))


def _execute(code: str, words: list[str]) -> None:
    """As the interpreter does: the working folder is where modules are found first."""
    sys.modules.pop("__main__", None)
    if code:
        sys.argv, sys.path[0] = ["-c", *words], ""
        main = type(sys)("__main__")
        sys.modules["__main__"] = main
        exec(compile(code, "<string>", "exec"), main.__dict__)
    else:
        sys.argv, sys.path[0] = list(words), str(Path.cwd())
        runpy.run_module(words[0], run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    _serve()
