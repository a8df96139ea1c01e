"""Works through trials one at a time; stopped at any moment, it goes on where it was."""

from __future__ import annotations

import json
import logging
import subprocess
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from headscope.runs.client import run_here
from headscope.runs.data_dir import write_whole
from headscope.runs.kind import Kind
from headscope.runs.kinds.fiak import FiakRun
from headscope.runs.kinds.importance import ImportanceRun
from headscope.runs.run import DONE, Run
from headscope.runs.store import Store
from reproductions import records
from reproductions.kinds import Scores, kind_of
from reproductions.priors import prime
from reproductions.trial import Trial

PAUSE, NOW, PID = "PAUSE", "now.json", "pid"
SECONDS_BETWEEN_POLLS = 1.0
SECONDS_BETWEEN_NOTES = 5.0

log = logging.getLogger("reproductions")


@dataclass
class Runner:
    """Does trials in this process, and writes a record of each; it stands still while a file PAUSE lies in its home."""

    store: Store
    folder: Path = records.FOLDER
    commit: str = ""
    failed: dict[str, str] = field(default_factory=dict)
    _noted: float = 0.0

    def work(self, trials: Sequence[Trial]) -> None:
        """Does all that is left; what fails is told, and left until the next start."""
        while (trial := next(self.left(trials), None)) is not None:
            log.info("%s", trial.name)
            try:
                record = self.do(trial)
            except ValueError as error:
                log.warning("%s failed: %s", trial.name, error)
                self.failed[trial.name] = str(error)
            else:
                log.info("%s is done: %s", trial.name, record["final"]["test"]["value"])

    def left(self, trials: Iterable[Trial]) -> Iterator[Trial]:
        """Trials without a record of their own that can be done now, in their order."""
        known = {trial.name: trial for trial in trials}
        return (
            trial
            for trial in known.values()
            if trial.name not in self.failed and self.is_ready(trial, known) and not records.found(trial, self.folder)
        )

    def is_ready(self, trial: Trial, known: dict[str, Trial]) -> bool:
        """Whether the trial that it needs the heads of, if any, has its record."""
        like = trial.heads.like if trial.heads else ""
        return not like or (like in known and records.found(known[like], self.folder) is not None)

    def do(self, trial: Trial) -> dict[str, Any]:
        """Runs one trial to its end and writes its record."""
        kind = kind_of(trial, self.scores_of, self.mask_of)
        if isinstance(kind, FiakRun):
            prime(kind, self.store, partial(self.between, trial.name))
        run = self.finished(kind, trial.name)
        record = records.record_of(trial, run, self.store.points(run.id), self.commit)
        records.write(trial, record, self.folder)
        return record

    def finished(self, kind: Kind, name: str) -> Run:
        """The run once it is done, here and now; a ValueError where it fails."""
        run = run_here(self.store, kind, lambda run: self.between(name, run.done, run.total))
        if run.state != DONE:
            raise ValueError(run.message or f"the run is {run.state}")
        return run

    def scores_of(self, kind: ImportanceRun) -> Scores:
        """Scores of heads, computed once."""
        scores: Scores = (self.finished(kind, kind.title).result or {})["scores"]
        return scores

    def mask_of(self, name: str) -> str:
        """The heads that went in the trial of that name."""
        record = json.loads((self.folder / f"{name}.json").read_text(encoding="utf-8"))
        return str(record["mask"])

    def between(self, name: str, done: int, total: int) -> None:
        """Called after every step: notes what is done, and stands still while PAUSE is there."""
        home = self.store.folder
        if time.monotonic() - self._noted > SECONDS_BETWEEN_NOTES:
            note(home, name, done, total)
            self._noted = time.monotonic()
        if not (home / PAUSE).exists():
            return
        log.info("paused: %s is there", home / PAUSE)
        note(home, name, done, total, paused=True)
        while (home / PAUSE).exists():
            time.sleep(SECONDS_BETWEEN_POLLS)
        log.info("goes on")


def note(home: Path, name: str, done: int, total: int, paused: bool = False) -> None:
    """Tells others what is being done."""
    told = {"name": name, "done": done, "total": total, "paused": paused, "at": time.time()}
    write_whole(home / NOW, json.dumps(told).encode())


def commit() -> str:
    """The commit of the code, with a plus where files differ from it; empty where there is no git."""
    root = Path(__file__).parents[1]
    try:
        head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=root, capture_output=True, text=True, check=True)
        changed = subprocess.run(
            ["git", "status", "--porcelain", "--untracked-files=no"],
            cwd=root,
            capture_output=True,
            text=True,
            check=True,
        )
    except (OSError, subprocess.CalledProcessError):
        return ""
    return head.stdout.strip() + ("+" if changed.stdout.strip() else "")
