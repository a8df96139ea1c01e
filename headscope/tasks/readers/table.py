"""Rows with chosen columns, or a first look, out of any file that is understood."""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from headscope.tasks.readers.conllu import conllu_records
from headscope.tasks.readers.delimited import csv_records, tsv_records
from headscope.tasks.readers.jsonl import jsonl_records
from headscope.tasks.readers.record import QUOTED, BrokenRow, Record, Records, quoted
from headscope.tasks.readers.source import Source

FORMATS: dict[str, Callable[[Source], Records]] = {
    ".csv": csv_records,
    ".tsv": tsv_records,
    ".jsonl": jsonl_records,
    ".conllu": conllu_records,
}

LISTED = 20
"""Columns that a message names."""


@dataclass(frozen=True)
class Row:
    """The chosen columns of a row, and the file's line on which it starts, counted from 1."""

    line: int
    values: dict[str, str]


@dataclass(frozen=True)
class Table:
    """The rows that were read, and those that were skipped."""

    rows: tuple[Row, ...]
    broken: tuple[BrokenRow, ...]


@dataclass(frozen=True)
class Preview:
    """The columns and the first rows of a file, and what was skipped on the way."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    broken: tuple[BrokenRow, ...]


def read_table(source: Source, columns: Sequence[str], labels: Sequence[str] = ()) -> Table:
    """Return the rows; a row is broken unless each of the columns holds text.

    A column of labels may also hold integers and truth values, which are given as JSON writes them.
    """
    found = _records(source)
    rows = list(found.rows)
    if not rows:
        raise ValueError(f"{source.name} has no rows under its header")
    _check_columns(source.name, [*columns, *labels], found.columns, rows)
    chosen = [row if isinstance(row, BrokenRow) else _row(source.name, row, columns, labels) for row in rows]
    return Table(tuple(row for row in chosen if isinstance(row, Row)), _broken(chosen))


def preview(source: Source, n: int = 20) -> Preview:
    """Return the columns and the first n rows that can be read."""
    found = _records(source)
    records: list[Record] = []
    broken: list[BrokenRow] = []
    for row in found.rows:
        if isinstance(row, BrokenRow):
            broken.append(row)
        else:
            records.append(row)
        if len(records) >= n:
            break
    columns = found.columns or _named_by(records)
    shown = tuple(tuple(_shown(record.values.get(column)) for column in columns) for record in records)
    return Preview(columns, shown, tuple(broken))


def _records(source: Source) -> Records:
    if source.suffix not in FORMATS:
        raise ValueError(f"{source.name} ends in {source.suffix!r}; known are {', '.join(FORMATS)}")
    return FORMATS[source.suffix](source)


def _broken(rows: Iterable[object]) -> tuple[BrokenRow, ...]:
    return tuple(row for row in rows if isinstance(row, BrokenRow))


def _check_columns(file: str, chosen: list[str], declared: tuple[str, ...], rows: list[Record | BrokenRow]) -> None:
    """Raise a ValueError if no row can have a chosen column, or none is chosen, or one is chosen twice."""
    if not chosen or len(set(chosen)) < len(chosen):
        raise ValueError(f"columns {', '.join(chosen) or 'none'}; at least one is needed, and each once")
    records = [row for row in rows if isinstance(row, Record)]
    known = declared or _named_by(records)
    missing = next((column for column in chosen if column not in known), None)
    if missing is not None and (declared or records):
        listed = ", ".join(quoted(column) for column in known[:LISTED]) or "none"
        raise ValueError(f"{file} has no column {quoted(missing)}; it has {listed}{', …' * (len(known) > LISTED)}")


def _named_by(records: list[Record]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for record in records for name in record.values))


def _row(file: str, record: Record, columns: Sequence[str], labels: Sequence[str]) -> Row | BrokenRow:
    try:
        values = {column: _text(record, column) for column in columns}
        values |= {label: _label(record, label) for label in labels}
    except ValueError as error:
        return BrokenRow(file, record.line, str(error))
    return Row(record.line, values)


def _label(record: Record, column: str) -> str:
    value = record.values.get(column)
    return json.dumps(value) if isinstance(value, int) else _text(record, column)


def _text(record: Record, column: str) -> str:
    if column not in record.values:
        raise ValueError(f"column {quoted(column)} is missing")
    value = record.values[column]
    if not isinstance(value, str):
        raise ValueError(f"column {quoted(column)} holds {_shown(value)[:QUOTED] or 'null'}; text is needed")
    if not value.strip():
        raise ValueError(f"column {quoted(column)} is empty")
    return value


def _shown(value: object) -> str:
    """Return a value as a short text; lists and objects are not spelt out."""
    if isinstance(value, list):
        return "[…]"
    if isinstance(value, dict):
        return "{…}"
    if value is None or isinstance(value, str):
        return value or ""
    return json.dumps(value)
