"""What a command is: a declaration with a name, its arguments, and the work that it does.

A command registers itself in the file that defines it; the parser, the tests and the check of docs/cli.md go through
the registry. Files of commands import the library inside `run`, so that help is there at once: torch takes seconds.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from argparse import ArgumentParser, Namespace
from typing import Any, ClassVar

from headscope.models.registry import Registry

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


_COMMANDS = Registry[Command]("command", "headscope.cli.commands", key="name")
register = _COMMANDS.register


def commands() -> tuple[Command, ...]:
    """Every command, in the order of the names."""
    return tuple(command() for command in _COMMANDS.all().values())
