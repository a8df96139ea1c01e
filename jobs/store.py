"""The runs of all processes in one SQLite file: short transactions, each on a connection of its own."""

from __future__ import annotations

import json
import shutil
import sqlite3
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from jobs.home import home
from jobs.process import Identity
from jobs.run import CANCELLED, FAILED, QUEUED, RESUMABLE, RUNNING, STATES, WAITING, Run

MOST_ATTEMPTS = 5
"""How often a run is taken up again after the death of its worker before it counts as failed."""

LONGEST_TITLE = 120

SCHEMA = """
CREATE TABLE IF NOT EXISTS runs (
    id TEXT PRIMARY KEY, kind TEXT NOT NULL, title TEXT NOT NULL, model TEXT NOT NULL, fingerprint TEXT NOT NULL,
    spec TEXT NOT NULL, lane TEXT NOT NULL, kept INTEGER NOT NULL, state TEXT NOT NULL, created REAL NOT NULL,
    queued REAL NOT NULL, started REAL, finished REAL,
    begun INTEGER NOT NULL DEFAULT 0, done INTEGER NOT NULL DEFAULT 0, total INTEGER NOT NULL DEFAULT 0,
    message TEXT NOT NULL DEFAULT '', record TEXT NOT NULL DEFAULT '{}',
    result TEXT, worker TEXT, attempts INTEGER NOT NULL DEFAULT 0, cancel INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX IF NOT EXISTS waiting ON runs (state, lane, queued);
CREATE TABLE IF NOT EXISTS points (
    run TEXT NOT NULL REFERENCES runs (id) ON DELETE CASCADE, number INTEGER NOT NULL, point TEXT NOT NULL,
    PRIMARY KEY (run, number)
) WITHOUT ROWID;
"""
COLUMNS = (
    "id, kind, title, model, fingerprint, spec, lane, state, created, started, finished, begun, done, total, message, "
    "record, result"
)


class Store:
    """Every run that was asked for, by whichever process, and the points it has computed."""

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder or home()
        self.folder.mkdir(parents=True, exist_ok=True)
        self.path = self.folder / "headlight.sqlite"
        with self._connected() as connection:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.executescript(SCHEMA)

    # asking

    def submit(self, run: Run, kept: bool = True) -> Run:
        """Queues a run, unless one of the same id is there already, which is left as it is."""
        now = time.time()
        values = {
            "id": run.id, "kind": run.kind, "title": run.title, "model": run.model, "fingerprint": run.fingerprint,
            "spec": json.dumps(run.spec), "lane": run.lane, "kept": kept, "state": QUEUED, "created": now,
            "queued": now,
        }  # fmt: skip
        names = ", ".join(values)
        places = ", ".join(f":{name}" for name in values)
        with self._transaction() as connection:
            connection.execute(f"INSERT INTO runs ({names}) VALUES ({places}) ON CONFLICT (id) DO NOTHING", values)
        return self.get(run.id)

    def resume(self, run_id: str) -> None:
        """Queues a run again that ended short of its aim; it goes on with the points it has."""
        with self._transaction() as connection:
            connection.execute(
                "UPDATE runs SET state = ?, queued = ?, finished = NULL, message = '', attempts = 0, cancel = 0 "
                f"WHERE id = ? AND state IN {_places(RESUMABLE)}",
                (QUEUED, time.time(), run_id, *RESUMABLE),
            )

    def cancel(self, run_id: str) -> None:
        """Asks a running run to stop after its present step; one that waits is cancelled at once."""
        with self._transaction() as connection:
            connection.execute(
                "UPDATE runs SET state = ?, finished = ? WHERE id = ? AND state = ?",
                (CANCELLED, time.time(), run_id, QUEUED),
            )
            connection.execute("UPDATE runs SET cancel = 1 WHERE id = ? AND state = ?", (run_id, RUNNING))

    def rename(self, run_id: str, title: str) -> None:
        """Gives a run another title; an empty one is refused."""
        wanted = " ".join(title.split())[:LONGEST_TITLE]
        if not wanted:
            raise ValueError("an empty name; a run needs one")
        with self._transaction() as connection:
            connection.execute("UPDATE runs SET title = ? WHERE id = ?", (wanted, self.get(run_id).id))

    def delete(self, run_id: str) -> None:
        """Forgets a run that has ended, with its points and its folder."""
        run = self.get(run_id)
        with self._transaction() as connection:
            gone = connection.execute(
                f"DELETE FROM runs WHERE id = ? AND state NOT IN {_places(WAITING)}", (run_id, *WAITING)
            )
            if not gone.rowcount:
                raise ValueError(f"run {run_id} is {run.state}; cancel it before it is deleted")
        shutil.rmtree(run.folder, ignore_errors=True)

    def prune(self, seconds: float, kept: bool = True) -> int:
        """Deletes all runs that ended more than so many seconds ago, and says how many; or those that none lists."""
        with self._connected() as connection:
            old = connection.execute(
                f"SELECT id FROM runs WHERE kept = ? AND finished <= ? AND state NOT IN {_places(WAITING)}",
                (kept, time.time() - seconds, *WAITING),
            ).fetchall()
        for (run_id,) in old:
            self.delete(run_id)
        return len(old)

    # looking

    def get(self, run_id: str) -> Run:
        """The run of that id as it is now."""
        with self._connected() as connection:
            row = connection.execute(f"SELECT {COLUMNS} FROM runs WHERE id = ?", (run_id,)).fetchone()
        if row is None:
            raise KeyError(f"no run {run_id!r}")
        return self._run(row)

    def runs(self, states: Sequence[str] = STATES, kind: str | None = None, n: int = 500) -> list[Run]:
        """The newest runs that are kept for history, the latest first."""
        with self._connected() as connection:
            rows = connection.execute(
                f"SELECT {COLUMNS} FROM runs WHERE kept AND state IN {_places(states)} AND kind = ifnull(?, kind) "
                "ORDER BY created DESC, id LIMIT ?",
                (*states, kind, n),
            ).fetchall()
        return [self._run(row) for row in rows]

    def points(self, run_id: str, after: int = 0) -> list[dict[str, Any]]:
        """The points of a run in order, without the first `after`."""
        with self._connected() as connection:
            rows = connection.execute(
                "SELECT point FROM points WHERE run = ? AND number >= ? ORDER BY number", (run_id, after)
            ).fetchall()
        return [json.loads(point) for (point,) in rows]

    # working

    def claim(self, lanes: Sequence[str], worker: Identity) -> Run | None:
        """Takes the run that has waited longest in the first of these lanes that has one."""
        with self._transaction() as connection:
            for lane in lanes:
                row = connection.execute(
                    "SELECT id FROM runs WHERE state = ? AND lane = ? ORDER BY queued, id LIMIT 1", (QUEUED, lane)
                ).fetchone()
                if row is not None:
                    return self._taken(connection, row[0], worker)
        return None

    def claim_one(self, run_id: str, worker: Identity) -> Run | None:
        """Takes this very run if it waits."""
        with self._transaction() as connection:
            row = connection.execute("SELECT id FROM runs WHERE id = ? AND state = ?", (run_id, QUEUED)).fetchone()
            return None if row is None else self._taken(connection, run_id, worker)

    def advance(self, run_id: str, done: int, total: int, points: Iterable[dict[str, Any]] = ()) -> bool:
        """Writes progress and new points, and says whether the run should go on."""
        with self._transaction() as connection:
            (number,) = connection.execute("SELECT count(*) FROM points WHERE run = ?", (run_id,)).fetchone()
            rows = [(run_id, number + place, json.dumps(point)) for place, point in enumerate(points)]
            connection.executemany("INSERT INTO points VALUES (?, ?, ?)", rows)
            connection.execute("UPDATE runs SET done = ?, total = ?, message = '' WHERE id = ?", (done, total, run_id))
            (cancelled,) = connection.execute("SELECT cancel FROM runs WHERE id = ?", (run_id,)).fetchone()
        return not cancelled

    def note(self, run_id: str, record: dict[str, Any]) -> None:
        """Writes down under which circumstances a run began."""
        with self._transaction() as connection:
            connection.execute("UPDATE runs SET record = ? WHERE id = ?", (json.dumps(record), run_id))

    def say(self, run_id: str, message: str) -> None:
        """Writes down what a run is doing now."""
        with self._transaction() as connection:
            connection.execute("UPDATE runs SET message = ? WHERE id = ?", (message, run_id))

    def end(self, run_id: str, state: str, message: str = "", result: dict[str, Any] | None = None) -> None:
        """Writes down how a run ended."""
        with self._transaction() as connection:
            connection.execute(
                "UPDATE runs SET state = ?, message = ?, result = ?, finished = ?, worker = NULL WHERE id = ?",
                (state, message, None if result is None else json.dumps(result), time.time(), run_id),
            )

    def recover(self) -> int:
        """Queues again what dead workers were running, and says how many runs that were."""
        with self._connected() as connection:
            rows = connection.execute("SELECT id, worker, attempts FROM runs WHERE state = ?", (RUNNING,)).fetchall()
        lost = [row for row in rows if row[1] is None or not Identity.parse(row[1]).alive]
        with self._transaction() as connection:
            for run_id, worker, attempts in lost:
                tired = attempts >= MOST_ATTEMPTS
                message = f"its worker died {attempts} times; resume it to try once more" if tired else ""
                connection.execute(
                    "UPDATE runs SET state = ?, message = ?, worker = NULL, queued = ? "
                    "WHERE id = ? AND state = ? AND worker IS ?",
                    (FAILED if tired else QUEUED, message, time.time(), run_id, RUNNING, worker),
                )
        return len(lost)

    def waiting(self, lanes: Sequence[str]) -> int:
        """How many runs of these lanes wait for a worker."""
        with self._connected() as connection:
            (n,) = connection.execute(
                f"SELECT count(*) FROM runs WHERE state = ? AND lane IN {_places(lanes)}", (QUEUED, *lanes)
            ).fetchone()
        return int(n)

    # the file

    def _taken(self, connection: sqlite3.Connection, run_id: str, worker: Identity) -> Run:
        connection.execute(
            "UPDATE runs SET state = ?, worker = ?, cancel = 0, message = '', finished = NULL, "
            "started = ?, begun = done, attempts = attempts + 1 WHERE id = ?",
            (RUNNING, str(worker), time.time(), run_id),
        )
        return self._run(connection.execute(f"SELECT {COLUMNS} FROM runs WHERE id = ?", (run_id,)).fetchone())

    def _run(self, row: Sequence[Any]) -> Run:
        values = dict(zip(COLUMNS.split(", "), row, strict=True))
        for name in ("spec", "record", "result"):
            values[name] = None if values[name] is None else json.loads(values[name])
        return Run(**values, folder=self.folder / values["id"])

    @contextmanager
    def _connected(self) -> Iterator[sqlite3.Connection]:
        connection = sqlite3.connect(self.path, timeout=20, isolation_level=None)
        try:
            connection.execute("PRAGMA foreign_keys = ON")
            connection.execute("PRAGMA synchronous = NORMAL")
            yield connection
        finally:
            connection.close()

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with self._connected() as connection:
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
            except BaseException:
                connection.execute("ROLLBACK")
                raise
            connection.execute("COMMIT")


def _places(values: Sequence[str]) -> str:
    return f"({', '.join('?' * len(values))})"
