"""Which importance methods there are, for pages that list them without loading torch."""

from __future__ import annotations

import hashlib
import os
import site
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from headscope.runs.kind import Kind, Steps, Workspace, register
from headscope.runs.run import QUERY

_FOUND = find_spec("headscope.analysis.importance.methods")  # its parents are empty, so this imports no torch
FOLDER = _FOUND.submodule_search_locations[0] if _FOUND and _FOUND.submodule_search_locations else ""


def code_mark() -> str:
    """Changes when a method is added or changed, or a package installed, so that an old list is not shown."""
    with os.scandir(FOLDER) as files:  # workers look thirty times a second
        stamps = [(file.name, file.stat().st_mtime_ns) for file in files if file.name.endswith(".py")]
    stamps += [(str(path), path.stat().st_mtime_ns) for path in map(Path, site.getsitepackages()) if path.is_dir()]
    return hashlib.sha256(repr(sorted(stamps)).encode()).hexdigest()[:16]


STARTED = code_mark()
"""The mark of the methods that this process has; what was added or changed later it does not know."""


def is_outdated() -> bool:
    """Whether methods were added or changed since this process began."""
    return code_mark() != STARTED


@register
@dataclass(frozen=True)
class MethodsQuery(Kind):
    """The registry of methods with their options; it concerns no model."""

    code: str = ""

    key = "methods"
    kept = False

    @property
    def title(self) -> str:
        """Not shown in any history."""
        return "Importance methods"

    @property
    def lane(self) -> str:
        """Somebody waits for it."""
        return QUERY

    def steps(self, workspace: Workspace) -> Steps:
        """Reads the registry; a process that has other methods than those asked for says so, and nothing is kept."""
        if self.code not in ("", STARTED):
            raise ValueError("the files of the importance methods have just changed; ask again in a moment")
        from headscope.analysis.importance.method import methods

        del workspace
        yield from ()
        return {"methods": [_described(key, method) for key, method in methods().items()]}


def _described(key: str, method: Any) -> dict[str, Any]:
    from headscope.analysis.importance.options import options_of

    options = [
        {"name": one.name, "default": one.default, "about": one.about, "choices": list(one.choices)}
        for one in options_of(method)
    ]
    return {
        "key": key,
        "title": method.title,
        "reference": method.reference,
        "about": method.about,
        "signed": method.signed,
        "needs_run": method.needs_run,
        "options": options,
    }
