"""The colours of Headlight, as CSS variables for light and dark."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

Key = TypeVar("Key")

IMPORTANCE = {
    "light": ("#eef2ff", "#c7d2fe", "#818cf8", "#4f46e5", "#2e1a87"),
    "dark": ("#272c56", "#3d3790", "#5b53d6", "#9aa5ff", "#eef1ff"),
}
VARIABLES = {
    "light": {"line": "#dfe3ee", "panel": "#f5f6fb", "text": "#1b2030", "second": "#5b6478", "primary": "#4f46e5",
              "tint": "#eceafe", "on-tint": "#4031bb", "chip": "#eef0f7", "on-chip": "#3b4357", "gone": "#9aa3b8",
              "share-2": "#c7d2fe", "share-3": "#e6e9f2"},
    "dark": {"line": "#2b3050", "panel": "#181c2e", "text": "#e7e9f3", "second": "#a3abc2", "primary": "#818cf8",
             "tint": "#272c56", "on-tint": "#c7d2fe", "chip": "#232844", "on-chip": "#c9cfe2", "gone": "#6b7494",
             "share-2": "#3d3790", "share-3": "#2b3050"},
}  # fmt: skip


def css_variables(theme: str) -> str:
    """The variables of one theme as a CSS rule."""
    named = "".join(f"--hl-{name}:{value};" for name, value in VARIABLES[theme].items())
    return f":root{{{named}}}"


def importance_colour(share: float, theme: str) -> str:
    """The colour of a score between 0, the least, and 1, the most important head, mixed between the five steps."""
    steps = IMPORTANCE[theme]
    place = min(max(share, 0.0), 1.0) * (len(steps) - 1)
    low = min(int(place), len(steps) - 2)
    return _mixed(steps[low], steps[low + 1], place - low)


def shades_of(scores: Mapping[Key, float]) -> dict[Key, float]:
    """Scores on a scale from 0 to 1; the square root keeps small differences visible."""
    most = max(scores.values(), default=0.0) or 1.0
    return {key: (max(score, 0.0) / most) ** 0.5 for key, score in scores.items()}


def _mixed(first: str, second: str, share: float) -> str:
    pairs = [(int(first[at : at + 2], 16), int(second[at : at + 2], 16)) for at in (1, 3, 5)]
    return "#" + "".join(f"{round(a + (b - a) * share):02x}" for a, b in pairs)
