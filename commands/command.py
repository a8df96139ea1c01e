"""What a command is: a declaration with a name, its arguments, and the work that it does.

A command registers itself in the file that defines it; cli.py, the tests and the check of docs/cli.md go through the
registry. Files of commands import the library inside `run`, so that help is there at once: torch takes seconds.
"""

from __future__ import annotations

import importlib
import pkgutil
from abc import ABC, abstractmethod
from argparse import ArgumentParser, Namespace
from functools import cache
from typing import Any, ClassVar, TypeVar

Answer = tuple[dict[str, Any], str]
"""The same answer twice: as what --json prints, and as what people read."""


class Command(ABC):
    """A command; `about` says in one phrase what it does. A record with "equal": False makes its exit code 1."""

    name: ClassVar[str]
    about: ClassVar[str]

    @abstractmethod
    def arguments(self, parser: ArgumentParser) -> None:
        """Tells the parser what the command is given; --json is there already."""

    @abstractmethod
    def run(self, options: Namespace) -> Answer:
        """Does the work; bad input is a ValueError, a KeyError or an OSError of one sentence."""


C = TypeVar("C", bound=type[Command])
_COMMANDS: dict[str, type[Command]] = {}


def register(command: C) -> C:
    """Makes a command known by its name; used as a decorator."""
    _COMMANDS[command.name] = command
    return command


def commands() -> tuple[Command, ...]:
    """Every command, in the order of the names."""
    _import_all()
    return tuple(_COMMANDS[name]() for name in sorted(_COMMANDS))


@cache
def _import_all() -> None:
    package = importlib.import_module("commands")
    for module in pkgutil.iter_modules(package.__path__):
        importlib.import_module(f"{package.__name__}.{module.name}")
