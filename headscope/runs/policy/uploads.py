"""Files that somebody uploaded, kept by their content, so that a link and a worker find them again."""

from __future__ import annotations

import hashlib
import re
import shutil
import time
from pathlib import PurePath

from headscope.models.text import shown
from headscope.runs.data_dir import check_room, home, write_whole
from headscope.runs.policy.access_policy import check_data
from headscope.runs.policy.limits import check_upload, demo
from headscope.runs.store import Store

LENGTH = 16
SUFFIXES = (".csv", ".tsv", ".jsonl", ".conllu", ".txt")
_MARK = re.compile(rf"[0-9a-f]{{{LENGTH}}}")


def keep(name: str, content: bytes) -> str:
    """Keeps a file and gives the mark by which `path_of` finds it; the same content has the same mark."""
    if demo():
        raise ValueError("this is a demo, which takes no data of your own")
    check_upload(name, len(content))
    suffix = PurePath(name).suffix.lower()
    if suffix not in SUFFIXES:
        raise ValueError(f"{shown(name)} ends in {shown(suffix, 20)!r}; known are {', '.join(SUFFIXES)}")
    check_room(home())
    mark = hashlib.sha256(suffix.encode() + content).hexdigest()[:LENGTH]
    folder = home() / "uploads" / mark
    folder.mkdir(parents=True, exist_ok=True)
    write_whole(folder / f"{_safe_stem(name)}{suffix}", content)
    return mark


def path_of(data: str) -> str:
    """The path behind a mark; what is no mark, a path or a data set's name, stays as it is.

    Data that this server does not take is a ValueError.
    """
    check_data(data, home())
    if not _MARK.fullmatch(data):
        return data
    found = sorted((home() / "uploads" / data).glob("[!.]*"))
    if not found:
        raise ValueError(f"no uploaded file {data} on this machine; upload it again")
    return str(found[0])


def forget(store: Store, seconds: float) -> int:
    """Deletes the files that came more than so many seconds ago and that no run names, and says how many."""
    n = 0
    for folder in (store.folder / "uploads").glob("*"):
        came = max((file.stat().st_mtime for file in folder.glob("*")), default=0.0)
        if _MARK.fullmatch(folder.name) and came <= time.time() - seconds and not store.names(folder.name):
            shutil.rmtree(folder, ignore_errors=True)
            n += not folder.exists()
    return n


def _safe_stem(name: str) -> str:
    """The name without its end and without anything that a path could be made of."""
    return re.sub(r"[^\w-]+", "_", PurePath(name.replace("\\", "/")).stem)[:60].strip("_") or "data"
