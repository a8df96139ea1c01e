"""Pruning curves as one small SVG that a page of documents can show: lines, a band of random orders, axes, a legend."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

Pair = tuple[float, float]

WIDTH, HEIGHT = 640, 300
LEFT, RIGHT, TOP, BOTTOM = 52, 200, 14, 40
COLOURS = ("#1f5fa8", "#c2571a", "#2f7d4f", "#7b4fa3", "#8a6d00", "#b03060")
GREY = "#8c8c8c"
FRAME = (LEFT, TOP, WIDTH - RIGHT, HEIGHT - BOTTOM)


@dataclass(frozen=True)
class Curve:
    """A named line of pairs: the share of heads removed, and the metric."""

    name: str
    pairs: tuple[Pair, ...]


@dataclass(frozen=True)
class Axis:
    """The metric from low to high, as it is or by its logarithm."""

    name: str
    low: float
    high: float
    logarithmic: bool

    @classmethod
    def over(cls, name: str, values: Sequence[float]) -> Axis:
        """An axis for these values; by logarithm where they span more than a factor of 50 and none is 0."""
        low, high = min(values), max(values)
        if low > 0 and high / low > 50:
            return cls(name, 10 ** math.floor(math.log10(low)), 10 ** math.ceil(math.log10(high)), True)
        step = 10 ** math.floor(math.log10(max(high - low, 1e-9)))
        return cls(name, step * math.floor(low / step), step * math.ceil(high / step), False)

    def share(self, value: float) -> float:
        """Where a value stands between low and high."""
        if self.logarithmic:
            return math.log(value / self.low) / math.log(self.high / self.low)
        return (value - self.low) / (self.high - self.low)

    def ticks(self) -> list[float]:
        """Round values, low and high among them."""
        if self.logarithmic:
            first, last = round(math.log10(self.low)), round(math.log10(self.high))
            return [10.0**power for power in range(first, last + 1)]
        return [self.low + (self.high - self.low) * part / 4 for part in range(5)]


def curves_svg(metric: str, curves: Sequence[Curve], band: Sequence[tuple[float, float, float]]) -> str:
    """The picture; the band gives for a share of removed heads the lowest and the highest random order."""
    values = [value for curve in curves for _, value in curve.pairs] + [one for _, *ends in band for one in ends]
    axis = Axis.over(metric, [value for value in values if math.isfinite(value)])
    parts = [*_frame(axis), *_band(axis, band), *_lines(axis, curves), *_legend(curves, bool(band))]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" '
        f'font-size="11" role="img"><title>{escape(metric)} by share of heads removed</title>'
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>\n' + "\n".join(parts) + "\n</svg>\n"
    )


def _place(axis: Axis, share: float, value: float) -> str:
    left, top, right, bottom = FRAME
    height = min(1.0, max(0.0, axis.share(min(value, axis.high))))
    return f"{left + share * (right - left):.1f},{bottom - height * (bottom - top):.1f}"


def _frame(axis: Axis) -> Iterator[str]:
    left, _, right, bottom = FRAME
    for tick in axis.ticks():
        _, y = _place(axis, 0, tick).split(",")
        yield f'<line x1="{left}" x2="{right}" y1="{y}" y2="{y}" stroke="#e4e4e4"/>'
        yield f'<text x="{left - 6}" y="{float(y) + 4:.1f}" text-anchor="end" fill="#444">{tick:.4g}</text>'
    for share in (0, 0.25, 0.5, 0.75, 1):
        x = left + share * (right - left)
        yield f'<text x="{x:.1f}" y="{bottom + 16}" text-anchor="middle" fill="#444">{100 * share:.0f} %</text>'
    yield f'<text x="{(left + right) / 2}" y="{bottom + 32}" text-anchor="middle" fill="#444">heads removed</text>'
    yield f'<text x="{right + 14}" y="{TOP + 10}" fill="#444">{escape(axis.name)}</text>'


def _band(axis: Axis, band: Sequence[tuple[float, float, float]]) -> Iterator[str]:
    if band:
        lower = [_place(axis, share, low) for share, low, _ in band]
        upper = [_place(axis, share, high) for share, _, high in reversed(band)]
        yield f'<polygon points="{" ".join(lower + upper)}" fill="{GREY}" fill-opacity="0.25"/>'


def _lines(axis: Axis, curves: Sequence[Curve]) -> Iterator[str]:
    for curve, colour in zip(curves, COLOURS, strict=False):
        places = " ".join(_place(axis, *pair) for pair in curve.pairs)
        yield f'<polyline points="{places}" fill="none" stroke="{colour}" stroke-width="2"/>'


def _legend(curves: Sequence[Curve], with_band: bool) -> Iterator[str]:
    entries = list(zip([curve.name for curve in curves], COLOURS, strict=False))
    entries += [("random orders, lowest to highest", GREY)] if with_band else []
    x = WIDTH - RIGHT + 14
    for place, (name, colour) in enumerate(entries):
        y = TOP + 30 + 18 * place
        yield f'<rect x="{x}" y="{y - 8}" width="12" height="8" fill="{colour}"/>'
        yield f'<text x="{x + 18}" y="{y}" fill="#222">{escape(name)}</text>'
