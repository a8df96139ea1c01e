"""Which importance methods there are, for pages that list them without loading torch."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jobs.kind import Bench, Kind, Steps, register
from jobs.run import QUESTION

FOLDER = Path(__file__).parents[2] / "analysis" / "importance"


def code_mark() -> str:
    """Changes when a method is added or changed, so that an old list is not shown."""
    stamps = [(path.name, path.stat().st_mtime_ns) for path in sorted(FOLDER.glob("*.py"))]
    return hashlib.sha256(repr(stamps).encode()).hexdigest()[:16]


@register
@dataclass(frozen=True)
class MethodsQuestion(Kind):
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
        return QUESTION

    def steps(self, bench: Bench) -> Steps:
        """Reads the registry."""
        from analysis.importance.method import methods

        del bench
        yield from ()
        return {"methods": [_described(key, method) for key, method in methods().items()]}


def _described(key: str, method: Any) -> dict[str, Any]:
    from analysis.importance.options import options_of

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
