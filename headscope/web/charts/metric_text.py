"""Metrics as people read them: shares as percentages, a space before the sign, a real minus."""

from __future__ import annotations

from typing import Any

SHARES = frozenset({"accuracy", "top-1 accuracy", "top-5 accuracy", "macro F1", "agreement"})
"""Metrics between 0 and 1 that are shown in percent."""

LOWER = frozenset({"perplexity", "bits per token", "KL divergence"})
"""Metrics of which less is better."""

SPACE = "\N{NO-BREAK SPACE}"
NO_CHANGE = "no change"


def higher_is_better(metric: str) -> bool:
    """Which way is up; known by the name, so that a run need not be done to be drawn."""
    return metric not in LOWER


def scale(metric: str) -> float:
    """What a value is multiplied by before it is shown."""
    return 100.0 if metric in SHARES else 1.0


def unit(metric: str) -> str:
    """What stands behind a value."""
    return f"{SPACE}%" if metric in SHARES else ""


def axis_title(metric: str) -> str:
    """The metric with its unit."""
    named = metric[:1].upper() + metric[1:]
    return f"{named}, %" if metric in SHARES else named


def metric_text(metric: str, value: float) -> str:
    """A value with its unit."""
    return f"{_digits(value * scale(metric), metric)}{unit(metric)}"


def range_text(metric: str, low: float, high: float) -> str:
    """An interval with its unit."""
    ends = (_digits(end * scale(metric), metric) for end in (low, high))
    return f"{' to '.join(ends)}{unit(metric)}"


def change_text(metric: str, change: float) -> str:
    """A difference with its sign, in points where the metric is a share."""
    shown = _digits(abs(change) * scale(metric), metric)
    if not shown.strip("0."):
        return NO_CHANGE
    sign = "\N{MINUS SIGN}" if change < 0 else "+"
    return f"{sign}{shown}" + (f"{SPACE}pt" if metric in SHARES else "")


def share_text(share: float, digits: int = 0) -> str:
    """A share in percent."""
    return f"{100 * share:.{digits}f}{SPACE}%".replace("-", "\N{MINUS SIGN}")


def point_text(point: dict[str, Any]) -> str:
    """The metric of a point with its interval."""
    name = point["metric"]
    return f"{metric_text(name, point['value'])} ({range_text(name, point['low'], point['high'])})"


def _digits(value: float, metric: str) -> str:
    if value >= 10_000:
        return f"{value:,.0f}"
    return f"{value:.1f}" if metric in SHARES or value >= 30 else f"{value:.2f}"
