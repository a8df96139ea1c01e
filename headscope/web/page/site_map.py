"""The pages of the app, in the order and the groups of the side bar."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

_FOUND = find_spec("headscope.pages")
FOLDER = Path(_FOUND.submodule_search_locations[0] if _FOUND and _FOUND.submodule_search_locations else "pages")
"""Where the files of the pages lie: beside the package in a checkout, within it where it is installed."""


@dataclass(frozen=True)
class PageEntry:
    """A page by its name in links, with its title and its icon."""

    name: str
    title: str
    icon: str

    @property
    def file(self) -> str:
        """The file that Streamlit runs."""
        return str(FOLDER / f"{self.name}.py")


MODEL = PageEntry("model", "Model", ":material/deployed_code:")
IMPORTANCE = PageEntry("importance", "Importance", ":material/grid_on:")
ROLES = PageEntry("roles", "Roles", ":material/category:")
ATTENTION = PageEntry("attention", "Attention", ":material/visibility:")
PRUNE_LAB = PageEntry("prune_lab", "Prune Lab", ":material/content_cut:")
LEARN = PageEntry("learn", "Learn", ":material/school:")
FIAK = PageEntry("fiak", "FiAK", ":material/key:")
DYNAMICS = PageEntry("dynamics", "Dynamics", ":material/timeline:")
LESSONS = PageEntry("lessons", "Lessons", ":material/auto_stories:")
RUNS = PageEntry("runs", "Runs", ":material/history:")

SITE_MAP = {
    "Begin": (MODEL, LESSONS),
    "Explore": (IMPORTANCE, ROLES, ATTENTION),
    "Experiment": (PRUNE_LAB, LEARN, FIAK, DYNAMICS, RUNS),
}
