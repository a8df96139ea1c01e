"""The colours of Headscope, as CSS variables for light and dark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

Key = TypeVar("Key")

IMPORTANCE = {
    "light": ("#eef2ff", "#c7d2fe", "#818cf8", "#4f46e5", "#2e1a87"),
    "dark": ("#272c56", "#3d3790", "#5b53d6", "#9aa5ff", "#eef1ff"),
}
GATE = {"light": ("#eef1fb", "#a5b1fb", "#4f46e5"), "dark": ("#272c56", "#4b45b0", "#9aa5ff")}
RAMPS: dict[str, Mapping[str, Sequence[str]]] = {"importance": IMPORTANCE, "gate": GATE}
SERIES = {
    "light": ("#4f46e5", "#0891b2", "#c2410c", "#9d174d", "#6b7280"),
    "dark": ("#818cf8", "#99f6e4", "#fbbf24", "#db2777", "#94a3b8"),
}
ROLES = {  # fill and letter; always both, never the fill alone; bars are stacked in this order
    "light": {"positional": ("#1e40af", "#ffffff"), "syntactic": ("#15803d", "#ffffff"),
              "rare words": ("#f59e0b", "#2b1a00"), "alignment": ("#e879f9", "#3b0764"),
              "induction": ("#e879f9", "#3b0764"), "neighbourhood": ("#e879f9", "#3b0764"),
              "end mark": ("#475569", "#ffffff"), "same token": ("#475569", "#ffffff"),
              "duplicate token": ("#475569", "#ffffff"), "broad": ("#dbe1ea", "#1f2937")},
    "dark": {"positional": ("#3b82f6", "#0f1220"), "syntactic": ("#99f6e4", "#0f1220"),
             "rare words": ("#fbbf24", "#0f1220"), "alignment": ("#f0abfc", "#0f1220"),
             "induction": ("#f0abfc", "#0f1220"), "neighbourhood": ("#f0abfc", "#0f1220"),
             "end mark": ("#a8a29e", "#0f1220"), "same token": ("#a8a29e", "#0f1220"),
             "duplicate token": ("#a8a29e", "#0f1220"), "broad": ("#3b4463", "#e7e9f3")},
}  # fmt: skip
ROLE_PATTERNS = {
    "positional": "", "syntactic": "/", "rare words": "x", "alignment": "\\", "induction": "\\", "neighbourhood": "\\",
    "end mark": ".", "same token": "-", "duplicate token": "+", "broad": "",
}  # fmt: skip
"""Of the bars; roles that share a fill and may occur in one model differ here."""

VARIABLES = {
    "light": {"page": "#ffffff", "amber": "#f59e0b", "empty": "#d5dae6", "hatch": "#dfe3ee", "line": "#dfe3ee",
              "panel": "#f5f6fb", "text": "#1b2030", "second": "#5b6478", "primary": "#4f46e5",
              "tint": "#eceafe", "on-tint": "#4031bb", "chip": "#eef0f7", "on-chip": "#3b4357", "gone": "#9aa3b8",
              "share-2": "#c7d2fe", "share-3": "#e6e9f2"},
    "dark": {"page": "#0f1220", "amber": "#fbbf24", "empty": "#2b3050", "hatch": "#2b3050", "line": "#2b3050",
             "panel": "#181c2e", "text": "#e7e9f3", "second": "#a3abc2", "primary": "#818cf8",
             "tint": "#272c56", "on-tint": "#c7d2fe", "chip": "#232844", "on-chip": "#c9cfe2", "gone": "#6b7494",
             "share-2": "#3d3790", "share-3": "#2b3050"},
}  # fmt: skip


def css_variables() -> str:
    """The variables of both themes as a CSS rule; the browser takes those of the theme it shows."""
    both = {name: (VARIABLES["light"][name], VARIABLES["dark"][name]) for name in VARIABLES["light"]}
    named = "".join(f"--hl-{name}:light-dark({light},{dark});" for name, (light, dark) in both.items())
    return f".stApp{{{named}}}"


def importance_colour(share: float, theme: str) -> str:
    """The colour of a score between 0, the least, and 1, the most important head."""
    return ramp_colour(share, "importance", theme)


def ramp_colour(share: float, ramp: str, theme: str) -> str:
    """The colour of a value between 0 and 1 on one of the ramps, mixed between its steps."""
    steps = RAMPS[ramp][theme]
    place = min(max(share, 0.0), 1.0) * (len(steps) - 1)
    low = min(int(place), len(steps) - 2)
    return _mixed(steps[low], steps[low + 1], place - low)


def shades_of(scores: Mapping[Key, float]) -> dict[Key, float]:
    """Scores on a scale from 0 to 1; the square root keeps small differences visible.

    A score below 0 has the shade of 0: a grid marks it otherwise.
    """
    most = max(scores.values(), default=0.0) or 1.0
    return {key: (max(score, 0.0) / most) ** 0.5 for key, score in scores.items()}


def _mixed(first: str, second: str, share: float) -> str:
    pairs = [(int(first[at : at + 2], 16), int(second[at : at + 2], 16)) for at in (1, 3, 5)]
    return "#" + "".join(f"{round(a + (b - a) * share):02x}" for a, b in pairs)
