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
ROLES = PageEntry("pages/roles.py", "Roles", ":material/category:")
ATTENTION = PageEntry("pages/attention.py", "Attention", ":material/visibility:")
PRUNE_LAB = PageEntry("pages/prune_lab.py", "Prune Lab", ":material/content_cut:")
LEARN = PageEntry("pages/learn.py", "Learn", ":material/school:")
FIAK = PageEntry("pages/fiak.py", "FiAK", ":material/key:")
DYNAMICS = PageEntry("pages/dynamics.py", "Dynamics", ":material/timeline:")
LESSONS = PageEntry("pages/lessons.py", "Lessons", ":material/auto_stories:")
RUNS = PageEntry("pages/runs.py", "Runs", ":material/history:")

SITE_MAP = {
    "Begin": (MODEL, LESSONS),
    "Explore": (IMPORTANCE, ROLES, ATTENTION),
    "Experiment": (PRUNE_LAB, LEARN, FIAK, DYNAMICS, RUNS),
}
