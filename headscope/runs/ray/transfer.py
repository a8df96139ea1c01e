"""What a node of a cluster may lack, and is sent: this program, the files of a model, a file of data."""

from __future__ import annotations

import io
import platform
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

import headscope
from headscope.models.loading.fingerprint import file_fingerprint, fingerprint
from headscope.models.loading.known_models import SPECIMENS_FOLDER, specimen_names

PACKAGES = ("analysis", "models", "pruning", "runs", "tasks")
COMPARED = ("torch", "transformers")
WITHIN = (".", "model")
LARGEST = 2**34
"""Bytes of a model that is sent; a larger one must lie where the nodes find it."""


@dataclass(frozen=True)
class Transfer:
    """A folder or a file that a run names; `mark` is the fingerprint of what is in it."""

    field: str
    name: str
    path: str
    mark: str

    def read(self) -> dict[str, bytes]:
        """The files by their names; of the folders within only `model` is sent, which FiAK writes."""
        path = Path(self.path)
        folder = path if path.is_dir() else path.parent
        files = [path] if path.is_file() else [one for inner in WITHIN for one in _plain_files(path / inner)]
        size = sum(one.stat().st_size for one in files)
        if size > LARGEST:
            raise ValueError(f"{self.name} has {size / 2**30:.0f} GB, too much to send; put it on every node")
        return {one.relative_to(folder).as_posix(): one.read_bytes() for one in files}


def transfers(spec: Mapping[str, Any]) -> list[Transfer]:
    """What a run needs of this machine; what is on the hub every node finds itself."""
    model, data = str(spec["model"]).strip(), str(spec.get("data") or "")
    folder = SPECIMENS_FOLDER / model if model in specimen_names() else Path(model).expanduser()
    found = [Transfer("model", spec["model"], str(folder.resolve()), fingerprint(model))] if folder.is_dir() else []
    if file_fingerprint(data):
        found.append(Transfer("data", data, str(Path(data).resolve()), file_fingerprint(data)))
    return found


def _plain_files(folder: Path) -> list[Path]:
    """The files of a folder of which none is a link out of it; none where there is no such folder."""
    from headscope.models.loading.checks import check_files

    if not folder.is_dir():
        return []
    check_files(folder)
    return sorted(one for one in folder.iterdir() if one.is_file())


def code() -> bytes:
    """This program without its interface, as an archive."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.write(str(headscope.__file__), "headscope/__init__.py")
        for package in PACKAGES:
            folder = Path(import_module(f"headscope.{package}").__path__[0])
            for path in sorted(folder.rglob("*")):
                if path.is_file() and "__pycache__" not in path.parts:
                    archive.write(path, Path("headscope", package, path.relative_to(folder)))
    return packed.getvalue()


def circumstances() -> dict[str, str]:
    """What must be the same on a node for the same numbers to come out."""
    from headscope.models.devices import pick_device

    return {
        "python": platform.python_version().rpartition(".")[0],
        **{name: version(name) for name in COMPARED},
        "device": pick_device("auto").type,
    }
