"""Names of Hugging Face data sets: `owner/name`, with a configuration behind a colon if wanted."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from headscope.models.text import shown

_NAME = re.compile(
    r"(?P<path>[A-Za-z0-9][\w.-]{0,95}/[A-Za-z0-9][\w.-]{0,95})(?::(?P<configuration>[\w.+ -]{1,100}))?", re.A
)
_FOLDERS = "hf://datasets/"


def split_hub_name(name: str) -> tuple[str, str | None]:
    """The path and the configuration of `nyu-mll/glue:sst2`.

    The package `datasets` would also open folders and files, and read any path with a builder such as `csv`. So what
    has no owner, and what is a path here, is refused.
    """
    found = _NAME.fullmatch(name)
    if found is None or ".." in name or Path(found["path"]).exists():
        raise ValueError(f"data set {shown(name)!r}; allowed is owner/name, or owner/name:configuration, of the hub")
    return found["path"], found["configuration"]


def check_hub_files(path: str, files: Iterable[str]) -> None:
    """Refuses a data set that lists a file of another place: of this machine, of a server, or of another data set."""
    allowed = tuple(f"{_FOLDERS}{path}{end}".casefold() for end in "@/")
    for file in files:
        if not file.rpartition("::")[2].casefold().startswith(allowed) or ".." in file:
            raise ValueError(f"data set {shown(path)!r} lists a file that is not its own: {shown(file)}")
