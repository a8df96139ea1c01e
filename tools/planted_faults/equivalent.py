"""Faults that change nothing anyone could observe, each with its reason, in equivalent.toml."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path

from tools.planted_faults.faults import Fault

FILE = Path(__file__).with_name("equivalent.toml")


@dataclass(frozen=True)
class Equivalent:
    """A fault by what surrounds it, so that neither a moved line nor a moved file loses it."""

    file: str
    function: str
    kind: str
    line: str
    new: str
    reason: str
    column: int | None = None

    def matches(self, fault: Fault) -> bool:
        """Whether the fault is this one; only the last name of the file counts, and the column where it is given."""
        mine = (Path(self.file).name, self.function, self.kind, self.line, self.new)
        same = mine == (Path(fault.path).name, fault.function, fault.kind, fault.code, fault.new)
        return same and self.column in (None, fault.column)


def equivalents(file: Path = FILE) -> list[Equivalent]:
    """All entries; each has a reason."""
    found = [Equivalent(**entry) for entry in tomllib.loads(file.read_text()).get("fault", [])]
    for entry in found:
        if not entry.reason.strip():
            raise ValueError(f"{entry.file}: {entry.line!r} is excluded without a reason")
    return found
