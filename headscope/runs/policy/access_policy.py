"""What may be asked of this server at all: which models, which data, how long a text.

A demo takes specimens only. Where people sign in, or HEADSCOPE_FOLDERS is set, folders and files are taken from there
and from what the asking user made: a path must not be a way to somebody else's runs.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from headscope.models.loading.known_models import specimen_names
from headscope.models.text import shown
from headscope.runs.policy.limits import check_text, demo
from headscope.runs.policy.owner import owner
from headscope.runs.policy.users import OFF, login
from headscope.runs.store import Store
from headscope.tasks.hub_names import split_hub_name

HUB = "hub:"
TYPED = ("text", "pair")
FOLDERS = "HEADSCOPE_FOLDERS"


def check_access(spec: Mapping[str, Any], folder: Path) -> None:
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
    if data.startswith(HUB):
        split_hub_name(data.removeprefix(HUB))
    else:
        _check_path(data, folder)


def _check_path(name: str, folder: Path) -> None:
    """Says the same of what exists and what does not, so that nobody can look around.

    Whoever loads a model strips its name, so one with blanks around it is refused: it is not what would be opened.
    """
    if not name or not _restricted():
        return
    try:
        given = Path(name).expanduser()
        is_path = name.startswith((".", "/", "~")) or name.count("/") > 1 or "\\" in name or given.exists()
        found = given.resolve()
    except (OSError, RuntimeError, ValueError):
        is_path, found = True, Path("/")
    opened = any(found.is_relative_to(root) for root in _roots()) or _is_own(found, folder)
    if name != name.strip() or (is_path and not opened):
        raise ValueError(f"{shown(name)} is not in a folder that this server opens; ask who runs it")


def _restricted() -> bool:
    return login() != OFF or bool(os.environ.get(FOLDERS))


def _roots() -> list[Path]:
    given = os.environ.get(FOLDERS, "")
    try:
        return [Path(one).expanduser().resolve() for one in given.split(os.pathsep) if one]
    except RuntimeError as error:  # ~ and a user that is not there
        raise ValueError(f"{FOLDERS} is {shown(given)!r}; allowed are folders, parted by {os.pathsep!r}") from error


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
