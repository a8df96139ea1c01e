"""What every method gives, as plain values that need no torch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from models.heads import HeadId


@dataclass(frozen=True)
class Scores:
    """One number a head, higher is more important, with its standard error over n examples."""

    values: Mapping[HeadId, float]
    errors: Mapping[HeadId, float]
    n: int
