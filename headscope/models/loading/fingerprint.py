"""What tells two models apart: a short hash of everything in a model's folder that changes what it computes."""

from __future__ import annotations

import hashlib
from functools import lru_cache
from pathlib import Path

from headscope.models.loading.known_models import SPECIMENS_FOLDER, specimen_names

LENGTH = 16
ENDS = 2**20
READ_WHOLE = 2**28
"""Files up to this size are read whole; of larger ones the first and the last MiB and the size count."""

COUNTED = (".safetensors", ".json", ".txt", ".model", ".jinja")
NOT_COUNTED = ("card.json", "history.json")
"""Files of a specimen that only tell about it."""


def fingerprint(name_or_folder: str) -> str:
    """The fingerprint of a model, before it is loaded: of its files, or of its name where it lies on the hub."""
    name = name_or_folder.strip()
    try:
        folder = SPECIMENS_FOLDER / name if name in specimen_names() else Path(name).expanduser()
        files = sorted(path for path in folder.iterdir() if _counts(path))
        stamps = tuple((path, path.stat().st_size, path.stat().st_mtime_ns) for path in files)
    except (OSError, RuntimeError, ValueError):  # the last for characters that no path can have
        return hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:LENGTH]
    return _of_files(stamps)


def file_fingerprint(path: str) -> str:
    """The fingerprint of one file; empty where there is none."""
    file = Path(path)
    try:
        return _of_files(((file, file.stat().st_size, file.stat().st_mtime_ns),)) if file.is_file() else ""
    except (OSError, ValueError):
        return ""


def _counts(path: Path) -> bool:
    """Whether it is a file that changes what the model computes; devices and pipes would never end."""
    return path.suffix in COUNTED and path.name not in NOT_COUNTED and path.is_file()


@lru_cache(maxsize=64)
def _of_files(stamps: tuple[tuple[Path, int, int], ...]) -> str:
    """The time stamps only say when to read the files again."""
    digest = hashlib.sha256()
    for path, size, _ in stamps:
        digest.update(f"{path.name} {size}\n".encode())
        with path.open("rb") as file:
            if size <= READ_WHOLE:
                digest.update(file.read())
            else:
                digest.update(file.read(ENDS))
                file.seek(-ENDS, 2)
                digest.update(file.read(ENDS))
    return digest.hexdigest()[:LENGTH]
