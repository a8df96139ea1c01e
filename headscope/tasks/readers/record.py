"""What every format gives, row by row: a record, or a broken row named by file and line."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

SURROGATE = re.compile("[\ud800-\udfff]")

MAX_FIELD = 100_000
"""Characters of the longest text that is accepted as one field."""

MAX_COLUMNS = 1000
TOO_LONG = f"has a field of more than {MAX_FIELD} characters"
QUOTED = 40
"""Characters of a file's text that a message repeats."""


@dataclass(frozen=True)
class Record:
    """The values of a row by column, and the file's line on which the row starts, counted from 1."""

    line: int
    values: Mapping[str, object]


@dataclass(frozen=True)
class BrokenRow:
    """A row that was skipped, and why."""

    file: str
    line: int
    reason: str

    def __str__(self) -> str:
        return f"{self.file}, line {self.line}: {self.reason}"


@dataclass(frozen=True)
class Records:
    """The rows of a file, in order; no columns where every row names its own."""

    columns: tuple[str, ...]
    rows: Iterator[Record | BrokenRow]


def flaw(texts: Iterable[str]) -> str | None:
    """Return what is wrong with the first broken text, if any is."""
    for text in texts:
        if "\0" in text:
            return "contains a NUL character"
        if len(text) > MAX_FIELD:
            return TOO_LONG
        if SURROGATE.search(text):
            return "contains half of a surrogate pair"
    return None


def quoted(text: str) -> str:
    """Return the text as a message shows it: in quotes and not too long."""
    return repr(text if len(text) <= QUOTED else text[:QUOTED] + "…")
