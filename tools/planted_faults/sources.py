"""The modules that get faults, and the state that a map of tests belongs to."""

from __future__ import annotations

import hashlib
from pathlib import Path

REPOSITORY = Path(__file__).parents[2]
FOLDERS = ("models", "tasks", "analysis", "pruning", "runs")


def modules(root: Path = REPOSITORY) -> list[Path]:
    """The files of the five folders, relative to the root."""
    return [
        path.relative_to(root) for folder in FOLDERS for path in sorted((root / "headscope" / folder).rglob("*.py"))
    ]


def digest(paths: list[Path], root: Path = REPOSITORY) -> str:
    """Changes where a path or a text does."""
    found = hashlib.sha256()
    for path in paths:
        found.update(str(path).encode() + b"\0" + (root / path).read_bytes() + b"\0")
    return found.hexdigest()[:12]


def state() -> Path:
    """The folder below build/ for what is known of these very modules; tests may change without losing it."""
    folder = REPOSITORY / "build" / "planted_faults" / digest(modules())
    folder.mkdir(parents=True, exist_ok=True)
    return folder
