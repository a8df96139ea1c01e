"""A point on a pruning curve, as a plain value that needs no torch."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

ORDER = "order"
"""The series of the curve itself; those beside it are `random 0`, `random 1`, …"""


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """How good a model is without the heads of a mask, and what it costs.

    `value` is the headline metric with its 95 % interval on n examples. `p` is that of the paired test against the
    unpruned model on the same examples, None for the unpruned model itself, and `test` its name; `worse` says that the
    metric is worse at p < 0.01. FLOPs are those of one example.
    """

    removed: int
    mask: str
    metric: str
    value: float
    low: float
    high: float
    n: int
    parameters: int
    flops: int
    p: float | None
    worse: bool
    test: str = ""

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self)


@dataclass(frozen=True, kw_only=True)
class Point(Verdict):
    """A verdict with the mean loss over examples, which takes passes of its own, and the curve it belongs to."""

    loss: float
    series: str = ORDER

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Point:
        """What `to_json` wrote; other entries do no harm, and points of old know no name of a test."""
        return cls(**{"test": ""} | {field.name: record[field.name] for field in fields(cls) if field.name in record})


def first_worse(points: Iterable[Point]) -> Point | None:
    """The first point of the curve, by heads removed, that is significantly worse than the unpruned model."""
    curve = sorted((point for point in points if point.series == ORDER), key=lambda point: point.removed)
    return next((point for point in curve if point.worse), None)
