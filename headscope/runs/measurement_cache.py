"""What was measured of a model under a mask, on disk, so that two runs which meet share the work."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterator, MutableMapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from headscope.runs.data_dir import trouble
from headscope.runs.store_rows import TEXT, opened, sealed

FILE = "measured.sqlite"
ADVICE = "stop the app and delete it: it only saves time, and no run is lost with it"
EDITION = 2
"""Raised when the same mask would be measured otherwise than before, so that old measurements are not taken."""

SCHEMA = """
CREATE TABLE IF NOT EXISTS measured (
    about TEXT NOT NULL, mask TEXT NOT NULL, record TEXT NOT NULL, PRIMARY KEY (about, mask)
) WITHOUT ROWID;
"""


class MeasurementCache(MutableMapping[str, dict[str, Any]]):
    """Plain values by mask, as it is spelt. `about` says of what and how: a model, data, a split, a method.

    Every process may read and write at any time; each access is a transaction of its own.
    """

    def __init__(self, folder: Path, *about: object) -> None:
        self.path = folder / FILE
        self.about = hashlib.sha256(json.dumps([EDITION, *about], sort_keys=True).encode()).hexdigest()[:32]
        folder.mkdir(parents=True, exist_ok=True)
        with self._connected() as connection:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.executescript(SCHEMA)

    def __getitem__(self, mask: str) -> dict[str, Any]:
        with self._connected() as connection:
            row = connection.execute(
                "SELECT record FROM measured WHERE about = ? AND mask = ?", (self.about, mask)
            ).fetchone()
        if row is None:
            raise KeyError(f"nothing was measured without {mask or 'no head'}")
        try:
            found: dict[str, Any] = opened(row[0])
        except ValueError as error:  # damaged; it is measured anew
            raise KeyError(f"what was measured without {mask or 'no head'} cannot be read") from error
        return found

    def __setitem__(self, mask: str, record: dict[str, Any]) -> None:
        self.update({mask: record})

    def update(self, records: dict[str, dict[str, Any]]) -> None:  # type: ignore[override]  # no need of other forms
        """Writes all records in one transaction: after a kill either all or none of them are there."""
        rows = [(self.about, mask, sealed(record)) for mask, record in records.items()]
        with self._connected() as connection:
            connection.execute("BEGIN IMMEDIATE")
            connection.executemany("INSERT OR REPLACE INTO measured VALUES (?, ?, ?)", rows)
            connection.execute("COMMIT")

    def __delitem__(self, mask: str) -> None:
        with self._connected() as connection:
            gone = connection.execute("DELETE FROM measured WHERE about = ? AND mask = ?", (self.about, mask))
        if not gone.rowcount:
            raise KeyError(f"nothing was measured without {mask or 'no head'}")

    def __iter__(self) -> Iterator[str]:
        with self._connected() as connection:
            rows = connection.execute("SELECT mask FROM measured WHERE about = ?", (self.about,)).fetchall()
        return iter([mask for (mask,) in rows])

    def __len__(self) -> int:
        with self._connected() as connection:
            (n,) = connection.execute("SELECT count(*) FROM measured WHERE about = ?", (self.about,)).fetchone()
        return int(n)

    @contextmanager
    def _connected(self) -> Iterator[sqlite3.Connection]:
        connection = sqlite3.connect(self.path, timeout=20, isolation_level=None)
        try:
            connection.text_factory = TEXT
            connection.execute("PRAGMA synchronous = NORMAL")
            yield connection
        except sqlite3.DatabaseError as error:
            raise trouble(self.path, error, ADVICE) from error
        finally:
            connection.close()
