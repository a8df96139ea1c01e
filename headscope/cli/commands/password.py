"""The line that lets somebody sign in."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace

from headscope.cli.command import Answer, Command, register


@register
class Password(Command):
    """Reads a password, from the keyboard or a pipe, and gives the line for the list of users."""

    name = "password"
    about = "make the line that lets somebody sign in"

    def arguments(self, parser: ArgumentParser) -> None:
        """Whose line it is."""
        parser.add_argument("user", metavar="NAME", help="the name to sign in with")

    def run(self, options: Namespace) -> Answer:
        """Asks twice where somebody types; nothing is written anywhere."""
        from headscope.runs.policy.users import entry

        if sys.stdin is None:
            raise ValueError("no password was given: standard input is closed; type one, or give it by a pipe")
        line = entry(options.user, _typed() if sys.stdin.isatty() else sys.stdin.readline().rstrip("\r\n"))
        return {"line": line}, line


def _typed() -> str:
    from getpass import getpass

    first = getpass("Password: ")
    if getpass("Once more: ") != first:
        raise ValueError("the two passwords differ")
    return first
