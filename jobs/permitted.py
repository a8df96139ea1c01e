"""What may be asked of this server at all: which models, which data, how long a text.

A demo takes specimens only. Where people sign in, or HEADLIGHT_FOLDERS is set, folders and files are taken from there
and from what the asking user made: a path must not be a way to somebody else's runs.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jobs.limits import check_text, demo
from jobs.owner import owner
from jobs.store import Store
from jobs.users import OFF, login
from models.catalog import specimen_names

HUB = "hub:"
TYPED = ("text", "pair")
FOLDERS = "HEADLIGHT_FOLDERS"


def check_permitted(spec: Mapping[str, Any], folder: Path) -> None:
    """Refuses a run in one sentence; `folder` is that of the store."""
    for name in TYPED:
        check_text(spec.get(name) or "")
    models = [spec.get("model", ""), *spec.get("checkpoints", ())]
    if demo():
        unknown = next((model for model in models if model and model not in specimen_names()), None)
        if unknown is not None:
            raise ValueError(
                f"this is a demo, which shows its own models only: {', '.join(specimen_names())}; not {unknown[:80]!r}"
            )
        if spec.get("parser"):
            raise ValueError("this is a demo, which takes no parser")
    for model in models:
        if model not in specimen_names():
            _check_path(model, folder)
    _check_path(spec.get("parser") or "", folder)
    check_data(spec.get("data") or "", folder)


def check_data(data: str, folder: Path) -> None:
    """Refuses data that this server does not take: a path, a data set of the hub, an upload."""
    if data and demo():
        raise ValueError("this is a demo, which takes no data of your own")
    if not data.startswith(HUB):
        _check_path(data, folder)


def _check_path(name: str, folder: Path) -> None:
    """Says the same of what exists and what does not, so that nobody can look around."""
    if not name or not _restricted():
        return
    given = Path(name).expanduser()
    try:
        is_path = name.startswith((".", "/", "~")) or name.count("/") > 1 or "\\" in name or given.exists()
        found = given.resolve()
    except (OSError, RuntimeError, ValueError):
        is_path, found = True, Path("/")
    if is_path and not any(found.is_relative_to(root) for root in _roots()) and not _is_own(found, folder):
        raise ValueError(f"{name[:80]} is not in a folder that this server opens; ask who runs it")


def _restricted() -> bool:
    return login() != OFF or bool(os.environ.get(FOLDERS))


def _roots() -> list[Path]:
    return [Path(one).expanduser().resolve() for one in os.environ.get(FOLDERS, "").split(os.pathsep) if one]


def _is_own(found: Path, folder: Path) -> bool:
    """Whether a path lies in a run's folder that the asking user may see, or is an upload, known by its content."""
    try:
        first, *rest = found.relative_to(folder.resolve()).parts
    except ValueError:
        return False
    if first == "uploads":
        return len(rest) == 2
    try:
        return Store(folder, owner()).get(first).id == first
    except KeyError:
        return False
