"""What every method gives, as plain values that need no torch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from models.heads import HeadId


@dataclass(frozen=True)
class Scores:
    """One number a head, higher is more important, with its standard error over n examples."""

    values: Mapping[HeadId, float]
    errors: Mapping[HeadId, float]
    n: int

    def to_json(self) -> dict[str, Any]:
        """Plain values by address."""
        return {
            "n": self.n,
            "scores": {str(head): value for head, value in self.values.items()},
            "errors": {str(head): error for head, error in self.errors.items()},
        }

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Scores:
        """What `to_json` wrote; other entries do no harm."""
        values, errors = (
            {HeadId.parse(head): float(number) for head, number in record[name].items()}
            for name in ("scores", "errors")
        )
        return cls(values, errors, record["n"])
