"""The task that somebody chose: one of ours by its key, or their own file or data set."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePath

from models.head_model import HeadModel
from tasks.catalog import fidelity_for, task, task_for
from tasks.own_data import Columns, hub_rows, own_task, read_task, read_text_task
from tasks.readers import BrokenRow, Source
from tasks.task import Task

ROLES = ("text", "pair", "label", "target")
HUB = "hub:"
"""What the name of a Hugging Face data set begins with, as in `hub:nyu-mll/glue:sst2`."""


def chosen_task(
    head_model: HeadModel, key: str = "", data: str = "", columns: Mapping[str, str] | None = None
) -> tuple[Task, tuple[BrokenRow, ...]]:
    """The task, and the rows of a file that were skipped; with neither key nor data the one that fits the model."""
    if data:
        return _own(data, columns or {})
    if key == "fidelity":
        return fidelity_for(head_model), ()
    return task(key) if key else task_for(head_model), ()


def _own(data: str, columns: Mapping[str, str]) -> tuple[Task, tuple[BrokenRow, ...]]:
    if PurePath(data).suffix.lower() == ".txt" and not data.startswith(HUB):
        return read_text_task(Source.from_path(data)), ()
    chosen = _columns(columns)
    if data.startswith(HUB):
        name = data.removeprefix(HUB)
        return own_task(name, hub_rows(name, chosen), chosen), ()
    return read_task(Source.from_path(data), chosen)


def _columns(given: Mapping[str, str]) -> Columns:
    named = {role: name for role, name in given.items() if name}
    if "text" not in named or any(role not in ROLES for role in named):
        spelt = " ".join(f"{role}={name}" for role, name in given.items())
        raise ValueError(f"columns {spelt!r}; allowed is text=NAME, with pair=, label= or target=")
    return Columns(**named)
