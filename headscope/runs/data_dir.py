"""Where everything that using Headscope leaves behind lies: the store, the folders of runs, uploaded files."""

from __future__ import annotations

import os
import shutil
import sqlite3
import tempfile
from pathlib import Path

import platformdirs

from headscope.models.text import shown

BACKUP, OLDER = ".backup.sqlite", ".backup-before.sqlite"
"""What the copies of a store are called after its stem: the newest, and one from before."""

LEAST_FREE = 64 * 2**20
"""Bytes that must be free on the disk before a run writes more."""


CHECKOUT = Path(__file__).parents[2]
"""Where the package lies; a checkout has a pyproject.toml there."""


def home() -> Path:
    """The folder named by HEADSCOPE_HOME, else `usual_home`; it is there when this returns."""
    named = os.environ.get("HEADSCOPE_HOME", "")
    try:
        folder = Path(named).expanduser().absolute() if named else usual_home()
    except RuntimeError as error:  # ~ and a user that is not there
        raise ValueError(f"HEADSCOPE_HOME is {shown(named)!r}; allowed is a folder") from error
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def usual_home() -> Path:
    """The folder `runs` of a checkout that has one, else the user's folder for data of this program."""
    runs = CHECKOUT / "runs"
    if (CHECKOUT / "pyproject.toml").is_file() and runs.is_dir():
        return runs
    return Path(platformdirs.user_data_path("headscope", appauthor=False))


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
    if any(one in said for one in ("malformed", "not a database", "no such table", "no such column")):
        return OSError(f"{path} is damaged: {said}; {advice or put_back(path)}")
    return OSError(f"{path} cannot be used: {said}")


def put_back(path: Path) -> str:
    """What to do about a store that is damaged or empty: which file to put in its place.

    What is left of a log would be written over the copy.
    """
    newest, older = (path.with_name(f"{path.stem}{end}") for end in (BACKUP, OLDER))
    copy = newest if newest.exists() or not older.exists() else older
    return (
        f"stop the app, delete {path.name}-wal and {path.name}-shm if they are there, and put {copy.name} in its "
        "place, which has what was finished before"
    )
