"""The pages of the app, in the order and the groups of the side bar."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class PageEntry:
    """A page by its file, with its name and its icon."""

    file: str
    title: str
    icon: str


MODEL = PageEntry("pages/model.py", "Model", ":material/deployed_code:")
IMPORTANCE = PageEntry("pages/importance.py", "Importance", ":material/grid_on:")
ATTENTION = PageEntry("pages/attention.py", "Attention", ":material/visibility:")
RUNS = PageEntry("pages/runs.py", "Runs", ":material/history:")

SITE_MAP = {"Explore": (MODEL, IMPORTANCE, ATTENTION), "Keep": (RUNS,)}
