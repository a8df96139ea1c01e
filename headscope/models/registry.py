"""Things that are known by name because the files that define them say so."""

from __future__ import annotations

import importlib
import pkgutil
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Generic, TypeVar

T = TypeVar("T")
Entry = TypeVar("Entry", bound=type[Any])


class Registry(Generic[T]):
    """Classes by an attribute of theirs, the key; every file of `package` is imported before the first answer.

    So is every module that an installed package names as an entry point of `group`. `what` is how a message calls one
    of the classes.
    """

    def __init__(self, what: str, package: str, key: str = "key") -> None:
        self.what = what
        self.package = package
        self.key = key
        self._entries: dict[str, type[T]] = {}
        self._imported = False

    @property
    def group(self) -> str:
        """Under what packages from outside name their modules, such as `headscope.importance_method`."""
        return f"headscope.{self.what.replace(' ', '_')}"

    def register(self, entry: Entry) -> Entry:
        """Makes a class known; used as a decorator."""
        self._entries[getattr(entry, self.key)] = entry
        return entry

    def all(self) -> dict[str, type[T]]:
        """Every class by its key, in the order of the keys."""
        if not self._imported:
            package = importlib.import_module(self.package)
            for module in pkgutil.iter_modules(package.__path__):
                importlib.import_module(f"{self.package}.{module.name}")
            for found in entry_points(group=self.group):
                _load(found)
            self._imported = True
        return dict(sorted(self._entries.items()))

    def get(self, key: str) -> type[T]:
        """The class of that key."""
        known = self.all()
        if key not in known:
            raise KeyError(f"no {self.what} {key!r}; known: {', '.join(known)}")
        return known[key]


def _load(found: EntryPoint) -> None:
    """Imports a module of another package; a ValueError in one sentence where that fails."""
    try:
        found.load()
    except Exception as error:  # code that is not ours may raise anything
        package = found.dist.name if found.dist else "a package"
        raise ValueError(f"{package} offers {found.value} to headscope, which cannot be imported: {error}") from error
