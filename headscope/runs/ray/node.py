"""What runs on a node of a cluster: parts of a run, or a whole one some seconds at a time."""

from __future__ import annotations

import platform
import shutil
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil

from headscope.models.loading.fingerprint import file_fingerprint, fingerprint
from headscope.runs.execution.model_cache import ModelCache
from headscope.runs.kind import Kind, Step, Steps, Workspace, kind_with
from headscope.runs.ray.transfer import Transfer, circumstances

Sent = list[tuple[dict[str, str], list[Any]]]


class Hand:
    """Does what one run needs; `folder` is where it may write."""

    def __init__(self, folder: str, key: str, spec: dict[str, Any], under: dict[str, str], sent: Sent) -> None:
        _check_same(under)
        self.folder = Path(folder)
        _clear_away(self.folder)
        places = {transfer["field"]: self._unpacked(Transfer(**transfer), contents) for transfer, contents in sent}
        self.models = SentModelCache(spec["model"], places.get("model", spec["model"]))
        self.kind: Kind = kind_with(key, spec | ({"data": places["data"]} if "data" in places else {}))
        self.said = ""
        self.steps: Steps | None = None
        self.seen: dict[str, tuple[int, int]] = {}
        self._do: Any = None

    def do(self, part: str) -> dict[str, Any]:
        """What is found for one part."""
        if self._do is None:
            self._do = self.kind.hand(self._workspace([]))
        found: dict[str, Any] = self._do(part)
        return found

    def begin(self, points: list[dict[str, Any]], files: dict[str, bytes]) -> None:
        """Takes up the whole run where its points and files leave it."""
        _write_all(self._run_folder, files)
        self._changes()
        self.steps = self.kind.steps(self._workspace(points))

    def go_on(self, seconds: float) -> dict[str, Any]:
        """Works for about so long and tells what came of it; the last answer has the result."""
        found: list[Step] = []
        until = time.monotonic() + seconds
        ended: dict[str, Any] = {}
        while not ended and time.monotonic() < until:
            try:
                found.append(next(self.steps))  # type: ignore[arg-type]  # begin comes first
            except StopIteration as end:
                ended = {"result": end.value}
        steps = [(step.done, step.total, step.point) for step in found if step.point is not None or step is found[-1]]
        return {"steps": steps, "files": self._changes(), "said": self.said, **ended}

    @property
    def _run_folder(self) -> Path:
        return self.folder / "runs" / "run"

    def _workspace(self, points: list[dict[str, Any]]) -> Workspace:
        self._run_folder.mkdir(parents=True, exist_ok=True)
        return Workspace(self.models, self._run_folder, points, self._say)

    def _say(self, message: str) -> None:
        self.said = message

    def _unpacked(self, transfer: Transfer, contents: list[Any]) -> str:
        """Where the node has the same files, else where it has put them now."""
        own = fingerprint(transfer.path) if transfer.field == "model" else file_fingerprint(transfer.path)
        if own == transfer.mark:
            return transfer.path
        import ray

        folder = self.folder / "sent" / transfer.field
        _write_all(folder, ray.get(contents[0]))
        return str(folder if transfer.field == "model" else folder / Path(transfer.path).name)

    def _changes(self) -> dict[str, bytes | None]:
        """The files of the run that are new or changed since the last time, and None for those that are gone."""
        self._run_folder.mkdir(parents=True, exist_ok=True)
        now = {}
        for path in sorted(self._run_folder.rglob("*")):
            if path.is_file():
                status = path.stat()
                now[path.relative_to(self._run_folder).as_posix()] = status.st_mtime_ns, status.st_size
        changed = {name: (self._run_folder / name).read_bytes() for name in now if now[name] != self.seen.get(name)}
        gone = dict.fromkeys(name for name in self.seen if name not in now)
        self.seen = now
        return changed | gone


class SentModelCache(ModelCache):
    """A cache whose model may lie elsewhere than its name says, and keeps its name."""

    def __init__(self, name: str, folder: str) -> None:
        super().__init__()
        self.name, self.folder = name, folder

    def get(self, name: str, progress: Any = lambda _: None) -> Any:
        """The model of that name."""
        return replace(super().get(self.folder if name == self.name else name, progress), name=name)


def _write_all(folder: Path, files: dict[str, bytes]) -> None:
    for name, contents in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(contents)


def _check_same(under: dict[str, str]) -> None:
    """Raise a ValueError in one sentence if this node would compute something else."""
    own = circumstances()
    for name, wanted in under.items():
        if own[name] != wanted:
            raise ValueError(
                f"the node {platform.node()} has {name} {own[name]} and this machine {wanted}; they must be the same"
            )


def _clear_away(own: Path) -> None:
    """Removes what places that were killed have left, as their folders tell by the number of their process."""
    stem = own.name.split("-")[:2]
    for folder in own.parent.glob("-".join(stem) + "-*"):
        pid = folder.name.split("-")[2]
        if pid.isdecimal() and not psutil.pid_exists(int(pid)) and folder.stat().st_uid == own.stat().st_uid:
            shutil.rmtree(folder, ignore_errors=True)
