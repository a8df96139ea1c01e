"""The runs of all processes in one SQLite file: short transactions, each on a connection of its own."""

from __future__ import annotations

import hashlib
import math
import shutil
import sqlite3
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

from headscope.models.text import shown
from headscope.runs.data_dir import BACKUP, OLDER, home, put_back, trouble
from headscope.runs.execution.process import Identity
from headscope.runs.policy.limits import check_queue
from headscope.runs.run import CANCELLED, FAILED, QUERY, QUEUED, RESUMABLE, RUNNING, STATES, WAITING, Run
from headscope.runs.store_rows import COLUMNS, TEXT, glance_of, opened, run_of, sealed

MOST_ATTEMPTS = 5
"""How often a run is taken up again after the death of its worker before it counts as failed."""

LONGEST_TITLE = 120
SECONDS_FOR_A_LOCK = 20.0

SCHEMA = """
CREATE TABLE IF NOT EXISTS runs (
    id TEXT PRIMARY KEY, kind TEXT NOT NULL, title TEXT NOT NULL, model TEXT NOT NULL, fingerprint TEXT NOT NULL,
    spec TEXT NOT NULL, lane TEXT NOT NULL, kept INTEGER NOT NULL, state TEXT NOT NULL, created REAL NOT NULL,
    queued REAL NOT NULL, started REAL, finished REAL,
    begun INTEGER NOT NULL DEFAULT 0, done INTEGER NOT NULL DEFAULT 0, total INTEGER NOT NULL DEFAULT 0,
    message TEXT NOT NULL DEFAULT '', record TEXT NOT NULL DEFAULT '{}',
    result TEXT, worker TEXT, attempts INTEGER NOT NULL DEFAULT 0, cancel INTEGER NOT NULL DEFAULT 0,
    owner TEXT NOT NULL DEFAULT ''
);
CREATE INDEX IF NOT EXISTS waiting ON runs (state, lane, queued);
CREATE TABLE IF NOT EXISTS points (
    run TEXT NOT NULL REFERENCES runs (id) ON DELETE CASCADE, number INTEGER NOT NULL, point TEXT NOT NULL,
    PRIMARY KEY (run, number)
) WITHOUT ROWID;
"""
FIRST = "SELECT id FROM runs WHERE state = ? AND lane = ? ORDER BY queued, id LIMIT 1"
LENGTH_OF_ID = 16
DAY = 86_400
NAME = "headscope.sqlite"
FORMER_NAME = "headlight.sqlite"
"""What the file was called when the project was; a folder that has it, or a copy of it, goes on with it."""


class Store:
    """Every run that was asked for, by whichever process, and the points it has computed.

    With an owner it shows and changes the runs of that owner alone, and what it is asked for becomes a run of theirs,
    with an id of its own: who asks for the same as somebody else has no part in the other's run. Without, it has all.
    """

    def __init__(self, folder: Path | None = None, owner: str | None = None) -> None:
        self.owner = owner
        self.folder = folder or home()
        self.folder.mkdir(parents=True, exist_ok=True)
        self.path = self.folder / NAME
        if not self.path.exists() and any(self.folder.glob(f"{Path(FORMER_NAME).stem}.*sqlite")):
            self.path = self.folder / FORMER_NAME
        with self._connected() as connection:
            if not _has_runs_table(connection):
                self._check_new()
            connection.execute("PRAGMA journal_mode = WAL")
            connection.executescript(SCHEMA)
        self._add_owners()

    # asking

    def submit(self, run: Run, kept: bool = True, limited: bool = False) -> Run:
        """Queues a run, unless one of the same id is there already, which is left as it is if it can be read.

        Where it is `limited`, a ValueError says that too many wait or run already.
        """
        with suppress(KeyError):
            found = self.get(run.id)  # pages ask again and again: a lock for each would keep the workers waiting
            if not found.broken:
                return found
            Store.delete(self, found.id)  # what cannot be read is of no use to anybody, in a demo neither
        now = time.time()
        values = {
            "id": self.own_id(run.id), "owner": self.owner or "", "kind": run.kind, "title": run.title,
            "model": run.model, "fingerprint": run.fingerprint, "spec": sealed(run.spec), "lane": run.lane,
            "kept": kept, "state": QUEUED, "created": now, "queued": now,
        }  # fmt: skip
        names = ", ".join(values)
        places = ", ".join(f":{name}" for name in values)
        with self._transaction() as connection:
            there = connection.execute("SELECT 1 FROM runs WHERE id = ?", (values["id"],)).fetchone()
            if limited and not there:
                check_queue(*self._under_way(connection))
            connection.execute(f"INSERT INTO runs ({names}) VALUES ({places}) ON CONFLICT (id) DO NOTHING", values)
        return self.get(run.id)

    def own_id(self, run_id: str) -> str:
        """The id under which the owner has what anybody else has under the given one."""
        if self.owner is None:
            return run_id
        return hashlib.sha256(f"{self.owner}\n{run_id}".encode()).hexdigest()[:LENGTH_OF_ID]

    def resume(self, run_id: str, limited: bool = False) -> None:
        """Queues a run again that ended short of its aim; it goes on with the points it has.

        One that was given up gets one more attempt. Where it is `limited`, a ValueError says that too many wait or run
        already.
        """
        run_id = self._known(run_id)
        with self._transaction() as connection:
            changed = connection.execute(
                "UPDATE runs SET state = ?, queued = ?, finished = NULL, message = '', cancel = 0, "
                "attempts = CASE WHEN attempts >= ? THEN ? ELSE 0 END "
                f"WHERE id = ? AND state IN {_places(RESUMABLE)}",
                (QUEUED, time.time(), MOST_ATTEMPTS, MOST_ATTEMPTS - 1, run_id, *RESUMABLE),
            )
            if limited and changed.rowcount:
                own, everybody = self._under_way(connection)
                check_queue(own - 1, everybody - 1)  # a refusal takes the change back

    def is_given_up(self, run_id: str) -> bool:
        """Whether a run failed because its workers died of it; then only somebody who wants that resumes it."""
        with self._connected() as connection:
            row = connection.execute(
                "SELECT attempts FROM runs WHERE id = ? AND state = ?", (self._known(run_id), FAILED)
            ).fetchone()
        return row is not None and row[0] >= MOST_ATTEMPTS

    def cancel(self, run_id: str) -> None:
        """Asks a running run to stop after its present step; one that waits is cancelled at once."""
        run_id = self._known(run_id)
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
            busy = (RUNNING,) if run.broken else WAITING
            gone = connection.execute(
                f"DELETE FROM runs WHERE id = ? AND state NOT IN {_places(busy)}", (run.id, *busy)
            )
            if not gone.rowcount:
                raise ValueError(f"run {run_id} is {run.state}; cancel it before it is deleted")
        shutil.rmtree(run.folder, ignore_errors=True)

    def prune(self, seconds: float, kept: bool = True) -> int:
        """Deletes all runs that ended more than so many seconds ago, and says how many; or those that none lists."""
        if not 0 <= seconds < math.inf:  # what is not a number is refused too
            raise ValueError(f"runs that ended {seconds:g} seconds ago; allowed is a number from 0 on")
        with self._connected() as connection:
            old = connection.execute(
                f"SELECT id FROM runs WHERE kept = ? AND finished <= ? AND state NOT IN {_places(WAITING)} "
                "AND owner = ifnull(?, owner)",
                (kept, time.time() - seconds, *WAITING, self.owner),
            ).fetchall()
        for (run_id,) in old:
            self.delete(run_id)
        return len(old)

    # looking

    def names(self, text: str) -> bool:
        """Whether any run, of whoever it is, was asked for with this text in its settings."""
        with self._connected() as connection:
            return connection.execute("SELECT 1 FROM runs WHERE instr(spec, ?) LIMIT 1", (text,)).fetchone() is not None

    def get(self, run_id: str) -> Run:
        """The run of that id as it is now."""
        with self._connected() as connection:
            row = connection.execute(
                f"SELECT {COLUMNS} FROM runs WHERE id IN (?, ?) AND owner = ifnull(?, owner)",
                (shown(run_id), self.own_id(shown(run_id)), self.owner),
            ).fetchone()
        if row is None:
            raise KeyError(f"no run {shown(run_id)!r}")
        return self._run(row)

    def runs(self, states: Sequence[str] = STATES, kind: str | None = None, n: int = 500) -> list[Run]:
        """The newest runs that are kept for history, the latest first."""
        with self._connected() as connection:
            rows = connection.execute(
                f"SELECT {COLUMNS} FROM runs WHERE kept AND kind = ifnull(?, kind) "
                f"AND (state IN {_places(states)} OR state NOT IN {_places(STATES)}) "
                "AND owner = ifnull(?, owner) ORDER BY created DESC, id LIMIT ?",
                (kind, *states, *STATES, self.owner, n),
            ).fetchall()
        found = [self._run(row) for row in rows]
        return [run for run in found if run.state in states]  # what cannot be read counts as failed

    def is_kept(self, run_id: str) -> bool:
        """Whether the history lists the run."""
        with self._connected() as connection:
            (kept,) = connection.execute("SELECT kept FROM runs WHERE id = ?", (self.get(run_id).id,)).fetchone()
        return bool(kept)

    def listed(self, n: int = 500) -> list[Run]:
        """What `runs` gives, without results: those are long to read, and who lists runs often needs few of them."""
        columns = COLUMNS.replace("result", "NULL")
        with self._connected() as connection:
            rows = connection.execute(
                f"SELECT {columns} FROM runs WHERE kept AND owner = ifnull(?, owner) ORDER BY created DESC, id LIMIT ?",
                (self.owner, n),
            ).fetchall()
        return [self._run(row) for row in rows]

    def glance(self, n: int = 500) -> list[tuple[str, str, str, int, int]]:
        """Id, title, state, done and total of what `runs` gives, for who looks often: results are long to read."""
        with self._connected() as connection:
            rows = connection.execute(
                "SELECT id, title, state, done, total FROM runs WHERE kept AND owner = ifnull(?, owner) "
                "ORDER BY created DESC, id LIMIT ?",
                (self.owner, n),
            ).fetchall()
        return [glance_of(row) for row in rows]

    def points(self, run_id: str, after: int = 0) -> list[dict[str, Any]]:
        """The points of a run in order, without the first `after`."""
        run_id = self._known(run_id)
        with self._connected() as connection:
            rows = connection.execute(
                "SELECT point FROM points WHERE run = ? AND number >= ? ORDER BY number", (run_id, after)
            ).fetchall()
        try:
            return [opened(point) for (point,) in rows]
        except (ValueError, RecursionError) as error:
            with self._transaction() as connection:  # from now on the run is broken, and asking for it begins anew
                connection.execute("UPDATE runs SET spec = '' WHERE id = ?", (run_id,))
            raise ValueError(
                f"a point of the run {run_id} in the store cannot be read; delete it and ask for it again"
            ) from error

    # working

    def claim(self, lanes: Sequence[str], worker: Identity) -> Run | None:
        """Takes the run that has waited longest in the first of these lanes that has one; what is broken fails."""
        with self._transaction() as connection:
            for lane in lanes:
                while (row := connection.execute(FIRST, (QUEUED, lane)).fetchone()) is not None:
                    run = self._taken(connection, row[0], worker)
                    if run is not None:
                        return run
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
            rows = [(run_id, number + place, sealed(point)) for place, point in enumerate(points)]
            connection.executemany("INSERT INTO points VALUES (?, ?, ?)", rows)
            connection.execute("UPDATE runs SET done = ?, total = ?, message = '' WHERE id = ?", (done, total, run_id))
            (cancelled,) = connection.execute("SELECT cancel FROM runs WHERE id = ?", (run_id,)).fetchone()
        return not cancelled

    def is_wanted(self, run_id: str) -> bool:
        """Whether nobody has cancelled a run that is under way."""
        with self._connected() as connection:
            row = connection.execute("SELECT cancel FROM runs WHERE id = ?", (run_id,)).fetchone()
        return row is not None and not row[0]

    def note(self, run_id: str, record: dict[str, Any]) -> None:
        """Writes down under which circumstances a run began."""
        with self._transaction() as connection:
            connection.execute("UPDATE runs SET record = ? WHERE id = ?", (sealed(record), run_id))

    def say(self, run_id: str, message: str) -> None:
        """Writes down what a run is doing now."""
        with self._transaction() as connection:
            connection.execute("UPDATE runs SET message = ? WHERE id = ?", (message, run_id))

    def end(self, run_id: str, state: str, message: str = "", result: dict[str, Any] | None = None) -> None:
        """Writes down how a run ended, which its worker survived."""
        with self._transaction() as connection:
            connection.execute(
                "UPDATE runs SET state = ?, message = ?, result = ?, finished = ?, worker = NULL, attempts = 0 "
                "WHERE id = ?",
                (state, message, None if result is None else sealed(result), time.time(), run_id),
            )

    def recover(self) -> int:
        """Queues again what dead workers were running, and says how many runs that were."""
        with self._connected() as connection:
            rows = connection.execute("SELECT id, worker, attempts FROM runs WHERE state = ?", (RUNNING,)).fetchall()
        lost = [row for row in rows if not _is_alive(row[1])]
        if not lost:  # every open page asks this, all the time
            return 0
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

    def is_asked(self, seconds: float) -> bool:
        """Whether a question of the last so many seconds waits or is being answered."""
        with self._connected() as connection:
            row = connection.execute(
                f"SELECT 1 FROM runs WHERE state IN {_places(WAITING)} AND lane = ? AND queued > ? LIMIT 1",
                (*WAITING, QUERY, time.time() - seconds),
            ).fetchone()
        return row is not None

    # the file

    def back_up(self) -> None:
        """Copies all runs to a file beside this one, which always holds a whole and sound copy, or none.

        The copy from before is kept where it has more runs or is of another day. An empty store is never copied.
        """
        newest, older = self._backups
        with tempfile.TemporaryDirectory(dir=self.folder, prefix=".backup-") as work:
            fresh = Path(work) / self.path.name
            with self._connected() as connection, closing(sqlite3.connect(fresh)) as copy:
                connection.backup(copy)
                copy.execute("PRAGMA journal_mode = DELETE")
                (sound,) = copy.execute("PRAGMA quick_check(1)").fetchone()
            n_runs = n_runs_in(fresh)
            if sound != "ok" or not n_runs:
                return
            before = n_runs_in(newest)
            if before and (before > n_runs or not older.exists() or newest.stat().st_mtime < time.time() - DAY):
                newest.replace(older)
            fresh.replace(newest)

    @property
    def _backups(self) -> tuple[Path, Path]:
        """The newest copy, and the one from before."""
        newest, older = (self.path.with_name(f"{self.path.stem}{end}") for end in (BACKUP, OLDER))
        return newest, older

    def _check_new(self) -> None:
        """Refuses to begin a store where copies tell of one that had runs: it was emptied, and only they are left."""
        n_runs = max(n_runs_in(path) for path in self._backups)
        if n_runs:
            raise OSError(
                f"{self.path} is empty or gone, and its copy has {n_runs} runs: {put_back(self.path)}; "
                "to begin anew, move the copies away"
            )

    def _add_owners(self) -> None:
        """Brings a file up to date that is from before runs had owners; what is in it belongs to nobody."""
        with self._connected() as connection:
            if _has_owners(connection):
                return
        with self._transaction() as connection:
            if not _has_owners(connection):  # another process may have been first
                connection.execute("ALTER TABLE runs ADD COLUMN owner TEXT NOT NULL DEFAULT ''")

    def _known(self, run_id: str) -> str:
        """The id of a run that this store shows; empty, which no run has, where it is somebody else's."""
        if self.owner is None:
            return run_id
        try:
            return self.get(run_id).id
        except KeyError:
            return ""

    def _under_way(self, connection: sqlite3.Connection) -> tuple[int, int]:
        """How many runs of the owner wait or run, and how many of all."""
        own, everybody = connection.execute(
            f"SELECT count(*) FILTER (WHERE owner = ifnull(?, owner)), count(*) FROM runs "
            f"WHERE state IN {_places(WAITING)}",
            (self.owner, *WAITING),
        ).fetchone()
        return int(own), int(everybody)

    def _taken(self, connection: sqlite3.Connection, run_id: str, worker: Identity) -> Run | None:
        """The run, which now runs; None where it cannot be read, which then failed."""
        connection.execute(
            "UPDATE runs SET state = ?, worker = ?, cancel = 0, message = '', finished = NULL, "
            "started = ?, begun = done, attempts = attempts + 1 WHERE id = ?",
            (RUNNING, str(worker), time.time(), run_id),
        )
        run = self._run(connection.execute(f"SELECT {COLUMNS} FROM runs WHERE id = ?", (run_id,)).fetchone())
        if run.state == RUNNING:
            return run
        connection.execute(
            "UPDATE runs SET state = ?, message = ?, finished = ?, worker = NULL WHERE id = ?",
            (FAILED, run.message, time.time(), run_id),
        )
        return None

    def _run(self, row: Sequence[Any]) -> Run:
        return run_of(row, self.folder)

    @contextmanager
    def _connected(self) -> Iterator[sqlite3.Connection]:
        try:
            connection = sqlite3.connect(self.path, timeout=SECONDS_FOR_A_LOCK, isolation_level=None)
        except sqlite3.Error as error:
            raise trouble(self.path, error) from error
        try:
            connection.text_factory = TEXT
            connection.execute("PRAGMA foreign_keys = ON")
            connection.execute("PRAGMA synchronous = NORMAL")
            yield connection
        except sqlite3.DatabaseError as error:
            raise trouble(self.path, error) from error
        finally:
            connection.close()

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with self._connected() as connection:
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
            except BaseException:
                if connection.in_transaction:  # some errors, a full disk for one, have ended it already
                    connection.execute("ROLLBACK")
                raise
            connection.execute("COMMIT")


def n_runs_in(path: Path) -> int:
    """How many runs a copy has; 0 where it is none, or damaged."""
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as connection:
            (n,) = connection.execute("SELECT count(*) FROM runs").fetchone()
    except sqlite3.Error:
        return 0
    return int(n)


def _has_runs_table(connection: sqlite3.Connection) -> bool:
    return bool(connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'runs'").fetchone())


def _has_owners(connection: sqlite3.Connection) -> bool:
    return any(row[1] == "owner" for row in connection.execute("PRAGMA table_info(runs)"))


def _is_alive(worker: str | None) -> bool:
    """Whether the process runs that a row names; garbage names none."""
    try:
        return worker is not None and Identity.parse(worker).alive
    except (TypeError, ValueError, OverflowError):
        return False


def _places(values: Sequence[str]) -> str:
    return f"({', '.join('?' * len(values))})"
