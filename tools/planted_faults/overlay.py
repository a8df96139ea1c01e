"""Imports files of another folder in place of their namesakes, in this process and in every Python that it starts.

Loaded on its own by the `sitecustomize` of started processes, so it imports nothing of ours.
"""

from __future__ import annotations

import builtins
import mmap
import os
from importlib.machinery import SourceFileLoader
from pathlib import Path

ROOT, OVERLAY, HITS = "PLANTED_ROOT", "PLANTED_OVERLAY", "PLANTED_HITS"


def environment(root: Path, overlay: Path, hits: Path | None = None) -> dict[str, str]:
    """The variables that hand an overlay on; writes the `sitecustomize` that reads them beside it."""
    site = overlay.parent / "site"
    site.mkdir(exist_ok=True)
    (site / "sitecustomize.py").write_text(
        f"import runpy\n\nrunpy.run_path({str(Path(__file__).resolve())!r})['from_environment']()\n"
    )
    found = {ROOT: str(root), OVERLAY: str(overlay), "PYTHONPATH": str(site)}
    return found if hits is None else found | {HITS: str(hits)}


def from_environment() -> None:
    """Installs the overlay that the environment names, if it names one."""
    if HITS in os.environ:
        builtins.__planted_hits__ = shared(Path(os.environ[HITS]))  # type: ignore[attr-defined]
    if OVERLAY in os.environ:
        install(Path(os.environ[ROOT]), Path(os.environ[OVERLAY]))


def shared(path: Path) -> mmap.mmap:
    """The file as writable memory that all processes see at once."""
    with path.open("r+b") as file:
        return mmap.mmap(file.fileno(), 0)


def install(root: Path, overlay: Path) -> None:
    """Replaces what loaders read, below the hook that checks annotations; bytecode of replaced files is never kept."""
    texts = {str(root / path.relative_to(overlay)): path.read_bytes() for path in overlay.rglob("*.py")}
    read, stats = SourceFileLoader.get_data, SourceFileLoader.path_stats

    def get_data(self: SourceFileLoader, path: str) -> bytes:
        return texts[path] if path in texts else read(self, path)

    def path_stats(self: SourceFileLoader, path: str) -> object:
        if path in texts:
            raise OSError("a replaced file has no bytecode")
        return stats(self, path)

    SourceFileLoader.get_data = get_data  # type: ignore[assignment, method-assign]
    SourceFileLoader.path_stats = path_stats  # type: ignore[assignment, method-assign]
