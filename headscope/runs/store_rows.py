"""Rows of the store as runs and points; what a disk made of them is found out, and is nobody else's trouble."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any
from zlib import crc32

from headscope.models.text import is_text, shown
from headscope.runs.run import FAILED, STATES, Run

COLUMNS = (
    "id, kind, title, model, fingerprint, spec, lane, state, created, started, finished, begun, done, total, message, "
    "record, result, owner"
)
BROKEN = "its {} in the store cannot be read; delete it and ask for it again"

TEXT = partial(str, encoding="utf-8", errors="surrogateescape")
"""Reads what is no UTF-8 too, for a connection to SQLite: one broken row must not hide all others."""

RECORDS = ("spec", "record", "result")
TIMES = ("created", "started", "finished")
COUNTS = ("begun", "done", "total")
LATEST = 9e9
"""Seconds since 1970, a time in the 23rd century: the latest that a table of times can show."""

_SEAL = re.compile(r" ([0-9a-f]{8})\Z")


def sealed(value: Any) -> str:
    """JSON and its checksum: a bit that a disk turns often leaves another number or name, which no parser notices."""
    text = json.dumps(value)
    return f"{text} {crc32(text.encode()):08x}"


def opened(text: Any) -> Any:
    """What was sealed; a ValueError if it is not what was written. JSON without a checksum is from an older version."""
    if not isinstance(text, str) or not is_text(text):
        raise ValueError("no text")
    seal = _SEAL.search(text)
    if seal is None:
        return json.loads(text)
    whole = text[: seal.start()]
    if crc32(whole.encode()) != int(seal[1], 16):
        raise ValueError("another checksum")
    return json.loads(whole)


def run_of(row: Sequence[Any], folder: Path) -> Run:
    """The run of a row of COLUMNS; one whose row is broken has failed, and holds nothing that cannot be shown."""
    values = dict(zip(COLUMNS.split(", "), row, strict=True))
    broken = ""
    for name, value in values.items():
        usual = _usual(name, value)
        if usual is not value:
            values[name] = usual
            broken = name
    for name in RECORDS:
        try:
            values[name] = None if values[name] is None else _record(values[name])
        except (ValueError, RecursionError):
            values[name] = None if name == "result" else {}
            broken = name
    if broken:
        values |= {"state": FAILED, "message": BROKEN.format(broken), "broken": True}
    return Run(**values, folder=folder / values["id"])


def glance_of(row: Sequence[Any]) -> tuple[str, str, str, int, int]:
    """Id, title, state, done and total of a row, each such that it can be shown."""
    named = zip(("id", "title", "state", "done", "total"), row, strict=True)
    run_id, title, state, done, total = (_usual(name, value) for name, value in named)
    return run_id, title, state, done, total


def _record(text: Any) -> dict[str, Any]:
    record = opened(text)
    if not isinstance(record, dict):
        raise ValueError("no record")
    return record


def _usual(name: str, value: Any) -> Any:
    """The value itself where it is of the kind that its column holds, else one that is."""
    if name in RECORDS:
        return value
    if name in TIMES:
        is_none = value is None and name != "created"
        return value if is_none or _is_number(value, LATEST) else 0.0
    if name in COUNTS:
        return value if isinstance(value, int) and _is_number(value, 2**53) else 0
    if name == "state":
        return value if value in STATES else FAILED
    return value if isinstance(value, str) and is_text(value) else shown(str(value))


def _is_number(value: Any, most: float) -> bool:
    return isinstance(value, int | float) and math.isfinite(value) and abs(value) <= most
