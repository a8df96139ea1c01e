"""Where everything that using Headlight leaves behind lies: the store, the folders of runs, uploaded files."""

from __future__ import annotations

import os
import shutil
import sqlite3
import tempfile
from pathlib import Path

from models.shown import shown

BACKUP = ".backup.sqlite"
"""What the copy of a store is called after its stem."""

LEAST_FREE = 64 * 2**20
"""Bytes that must be free on the disk before a run writes more."""


def home() -> Path:
    """The folder named by HEADLIGHT_HOME, else `runs` beside the code; it is there when this returns."""
    named = os.environ.get("HEADLIGHT_HOME", "")
    try:
        folder = Path(named or Path(__file__).parents[1] / "runs").expanduser().absolute()
    except RuntimeError as error:  # ~ and a user that is not there
        raise ValueError(f"HEADLIGHT_HOME is {shown(named)!r}; allowed is a folder") from error
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def check_room(folder: Path) -> None:
    """Raise an OSError in one sentence if the disk is nearly full, while there still is room to say so."""
    free = shutil.disk_usage(folder).free
    if free < LEAST_FREE:
        raise OSError(
            f"the disk of {folder} has {free / 2**20:.0f} MB left and a run needs {LEAST_FREE / 2**20:.0f}; "
            "what was computed is kept: make room and resume the run"
        )


def write_whole(path: Path, content: bytes) -> None:
    """Writes a file so that others, and whoever comes after a kill, find all of it or what was there before."""
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", delete=False) as file:
        try:
            file.write(content)
            file.flush()
            Path(file.name).replace(path)
        except BaseException:
            Path(file.name).unlink(missing_ok=True)
            raise


def trouble(path: Path, error: sqlite3.Error, advice: str = "") -> OSError:
    """What is wrong with a file of SQLite, as an OSError in one sentence, with what to do where it is damaged."""
    said, kept = str(error), "what was computed is kept"
    if "locked" in said or "busy" in said:
        return OSError(f"{path} is locked by another program; {kept}: try again, or resume the run")
    if "full" in said:
        return OSError(f"the disk of {path.parent} is full; {kept}: make room and resume the run")
    if "malformed" in said or "not a database" in said:
        in_its_place = f"stop the app and put {path.stem}{BACKUP} in its place, which has what was finished before"
        return OSError(f"{path} is damaged: {said}; {advice or in_its_place}")
    return OSError(f"{path} cannot be used: {said}")
