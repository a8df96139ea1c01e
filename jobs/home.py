"""Where everything that using Headlight leaves behind lies: the store, the folders of runs, uploaded files."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

LEAST_FREE = 64 * 2**20
"""Bytes that must be free on the disk before a run writes more."""


def home() -> Path:
    """The folder named by HEADLIGHT_HOME, else `runs` beside the code; it is there when this returns."""
    folder = Path(os.environ.get("HEADLIGHT_HOME") or Path(__file__).parents[1] / "runs").expanduser().absolute()
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
