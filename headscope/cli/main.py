"""Headscope from a shell: `headscope COMMAND --help` tells more."""

from __future__ import annotations

import argparse
import json
import logging
import os
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

import headscope
from headscope.cli.arguments import number, whole
from headscope.cli.command import commands
from headscope.cli.terminal import say, show_progress
from headscope.models.text import is_panic, is_text, shown

LONGEST = 1000
"""Characters of a sentence; what is longer repeats what it was given."""

QUIET = {"TRANSFORMERS_VERBOSITY": "error", "HF_HUB_DISABLE_PROGRESS_BARS": "1"}
"""Settings under which libraries leave standard error to us; they are read when a command imports them."""


def run() -> NoReturn:
    """The command `headscope`: ends the process with the exit code of `main`."""
    sys.exit(main())


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command; bad input gives one sentence on standard error and exit code 2."""
    for name, value in QUIET.items():
        os.environ.setdefault(name, value)
    logging.raiseExceptions = False  # where standard error cannot be written
    given = sys.argv[1:] if arguments is None else arguments
    options = _parser().parse_args(_all_text(given))
    try:
        record, text = options.run(options)
    except KeyError as error:
        return _ended(2, str(error.args[0] if error.args else error))
    except ValueError as error:
        return _ended(2, str(error))
    except OSError as error:
        return _ended(2, f"{error.strerror or error}: {error.filename or ''}".rstrip(": "))
    except KeyboardInterrupt:
        return _ended(130, "stopped")
    except BaseException as error:
        if not is_panic(error):
            raise
        return _ended(2, f"a file of this model cannot be used for this: {shown(str(error), 200)}")
    return _answered(json.dumps(record) if options.json else text) or int(record.get("equal") is False)


def _all_text(arguments: Sequence[str]) -> Sequence[str]:
    """The arguments, if they can be written down; bytes of a shell that are no text cannot."""
    for one in arguments:
        if not is_text(one):
            sys.exit(_ended(2, f"{shown(one, 200)} is not text in UTF-8, which every argument must be"))
    return arguments


def _answered(text: str) -> int:
    """Prints the answer."""
    try:
        print(text, flush=True)
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # or Python tries again when it ends
        if not isinstance(error, BrokenPipeError):  # whose reader, `head` for one, has seen enough
            return _ended(2, f"the answer could not be written: {error.strerror}")
    return 0


def _ended(code: int, sentence: str) -> int:
    show_progress("")
    say(shown(" ".join(sentence.split()), LONGEST))
    return code


class _Parser(argparse.ArgumentParser):
    """Answers wrong arguments as everything else is answered, without the lines of the usage."""

    def error(self, message: str) -> NoReturn:
        sys.exit(_ended(2, f"{shown(message, LONGEST - 80)}; {self.prog} --help tells more"))

    def _get_values(self, action: argparse.Action, arg_strings: list[str]) -> Any:
        """The value of an option; argparse takes `--` for none of them, even in `--mask=--`, and then lacks one."""
        if action.option_strings and "--" in arg_strings:
            raise argparse.ArgumentError(action, "'--' is no value")
        return super()._get_values(action, arg_strings)


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="headscope", description="What every attention head does, and which can go.")
    parser.add_argument("--version", action="version", version=f"headscope {headscope.__version__}")
    subparsers = parser.add_subparsers(required=True, metavar="COMMAND")
    for command in commands():
        own = subparsers.add_parser(command.name, help=command.about, description=command.about)
        own.register("type", int, whole)
        own.register("type", float, number)
        own.add_argument("--json", action="store_true", help="print one JSON object")
        command.arguments(own)
        own.set_defaults(run=command.run)
    return parser
