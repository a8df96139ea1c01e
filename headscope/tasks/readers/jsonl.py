"""JSON Lines: one object per line, each with columns of its own."""

import json
from collections.abc import Iterator

from headscope.tasks.readers.record import MAX_COLUMNS, BrokenRow, Record, Records, flaw
from headscope.tasks.readers.source import Source

MAX_LINE = 1_000_000
"""Characters of the longest line that is parsed."""


def jsonl_records(source: Source) -> Records:
    """Return the objects of a JSON Lines file."""
    return Records((), _rows(source.name, source.text()))


def _rows(file: str, text: str) -> Iterator[Record | BrokenRow]:
    for line, row in enumerate(text.split("\n"), start=1):
        if row and not row.isspace():
            yield _row(file, line, row)


def _row(file: str, line: int, text: str) -> Record | BrokenRow:
    try:
        return Record(line, _parsed(text))
    except ValueError as error:
        return BrokenRow(file, line, str(error))


def _parsed(text: str) -> dict[str, object]:
    """Return the object; a ValueError says what is wrong with the line."""
    if len(text) > MAX_LINE:
        raise ValueError(f"has {len(text)} characters; at most {MAX_LINE} are allowed")
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        raise ValueError(f"is not JSON: {error.msg.lower()} at character {error.pos + 1}") from error
    except (ValueError, RecursionError) as error:
        raise ValueError("is JSON with a number too long or brackets too deep to read") from error
    if not isinstance(value, dict):
        raise ValueError(f"is not a JSON object but {type(value).__name__}")
    if len(value) > MAX_COLUMNS:
        raise ValueError(f"has {len(value)} columns; at most {MAX_COLUMNS} are allowed")
    wrong = flaw([*value, *(field for field in value.values() if isinstance(field, str))])
    if wrong:
        raise ValueError(wrong)
    return value
