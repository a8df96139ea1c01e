"""CSV as RFC 4180 has it, and TSV, in which a quotation mark is a character like any other."""

import csv
import io
from collections.abc import Iterator

from headscope.tasks.readers.record import MAX_COLUMNS, TOO_LONG, BrokenRow, Record, Records, flaw, quoted
from headscope.tasks.readers.source import Source

MAX_SPAN = 1000
"""Lines that a quoted CSV row may go over."""

Row = tuple[int, list[str] | str]
"""The line on which a row starts, and its fields or what is wrong with it."""


def csv_records(source: Source) -> Records:
    """Return the rows of a CSV file under its header."""
    return _under_header(source.name, _csv_rows(_lines(source)))


def tsv_records(source: Source) -> Records:
    """Return the rows of a TSV file under its header."""
    lines = enumerate(_lines(source), start=1)
    return _under_header(source.name, ((line, text.rstrip("\r\n").split("\t")) for line, text in lines if text.strip()))


def _lines(source: Source) -> list[str]:
    """Return the lines with their ends, which may be LF, CRLF or CR."""
    return list(io.StringIO(source.text(), newline=""))


def _csv_rows(lines: list[str]) -> Iterator[Row]:
    """Yield every row; after a broken one, reading goes on at the line after its first.

    What is read twice for that is bounded: past four times the file, a row must end on its own line.
    """
    start, patience = 0, 4 * sum(map(len, lines))
    while start < len(lines):
        span = MAX_SPAN if patience > 0 else 1
        reader = csv.reader((lines[line] for line in range(start, min(start + span, len(lines)))), strict=True)
        try:
            fields = next(reader)
        except csv.Error as error:
            yield start + 1, _csv_reason(error)
            patience -= sum(len(lines[line]) for line in range(start + 1, start + reader.line_num))
            start += 1
        else:
            if fields:
                yield start + 1, fields
            start += reader.line_num


def _csv_reason(error: csv.Error) -> str:
    if "end of data" in str(error):
        return "a quotation mark is opened and never closed"
    if "expected after" in str(error):
        return "a closing quotation mark is not followed by a comma or the end of the line"
    return TOO_LONG if "field limit" in str(error) else str(error)


def _under_header(file: str, rows: Iterator[Row]) -> Records:
    line, header = next(rows)
    columns = _columns(file, line, header)
    return Records(columns, (_record(file, columns, line, fields) for line, fields in rows))


def _columns(file: str, line: int, header: list[str] | str) -> tuple[str, ...]:
    """Return the column names; a nameless one, such as that of a saved index, is called by its number."""
    wrong = header if isinstance(header, str) else flaw(header)
    if wrong:
        raise ValueError(f"{file} has no readable header, line {line}: {wrong}")
    if len(header) > MAX_COLUMNS:
        raise ValueError(f"{file} has {len(header)} columns; at most {MAX_COLUMNS} are read")
    if not any(name.strip() for name in header):
        raise ValueError(f"{file} has no header: line {line} names no column")
    columns = tuple(name.strip() or f"column {number}" for number, name in enumerate(header, start=1))
    twice = sorted({name for name in columns if columns.count(name) > 1})
    if twice:
        raise ValueError(f"{file} has more than one column {quoted(twice[0])}; every column needs a name of its own")
    return columns


def _record(file: str, columns: tuple[str, ...], line: int, fields: list[str] | str) -> Record | BrokenRow:
    if isinstance(fields, str):
        return BrokenRow(file, line, fields)
    if len(fields) != len(columns):
        return BrokenRow(file, line, f"number of fields: {len(fields)} here, {len(columns)} in the header")
    wrong = flaw(fields)
    return BrokenRow(file, line, wrong) if wrong else Record(line, dict(zip(columns, fields, strict=True)))
