"""What each head is for."""

from __future__ import annotations

import csv
from argparse import ArgumentParser, Namespace
from io import StringIO
from pathlib import Path
from typing import Any

from commands.command import Answer, Command, register
from commands.loading import model_argument
from commands.running import finished


@register
class Roles(Command):
    """Every role that a model's heads can have, with score, baseline and verdict; a run that the app shows as well."""

    name = "roles"
    about = "find out what each head of a model is for"

    def arguments(self, parser: ArgumentParser) -> None:
        """A model, and the sentences on which its heads are watched."""
        model_argument(parser)
        parser.add_argument(
            "--trees", default="", metavar="FILE", help="your own CoNLL-U file; by default what the model is made for"
        )
        parser.add_argument(
            "--parser", default="", metavar="NAME", help="an installed spaCy pipeline, where --trees is a plain text"
        )
        parser.add_argument("--split", default="development", help="calibration, development or test")
        parser.add_argument("--n", type=int, default=600, help="examples (default: 600)")
        parser.add_argument("--csv", action="store_true", help="print a table to be read by other programs")

    def run(self, options: Namespace) -> Answer:
        """Looks for the roles, or finds what was found."""
        from jobs.kinds.roles import RolesRun
        from jobs.store import Store

        if options.parser and not options.trees:
            raise ValueError(f"--parser {options.parser} without --trees; it parses the texts of a file")
        data = str(Path(options.trees).absolute()) if options.trees else ""
        kind = RolesRun(options.model, data=data, parser=options.parser, split=options.split, n=options.n)
        run = finished(Store(), kind)
        found: dict[str, Any] = run.result or {}
        return {"roles": found["roles"]}, _as_csv(found) if options.csv else _as_text(found, run.id)


def _as_csv(found: dict[str, Any]) -> str:
    written = StringIO()
    table = csv.writer(written, lineterminator="\n")
    table.writerow(["role", "head", "score", "baseline", "n", "verdict", "case"])
    for role, own in found["roles"].items():
        for head, one in own.items():
            numbers = [one[name] for name in ("score", "baseline", "n", "verdict")]
            table.writerow([role, head, *numbers, one["detail"]["case"]])
    return written.getvalue().rstrip("\n")


def _as_text(found: dict[str, Any], run_id: str) -> str:
    """How many heads have each role, then a sentence on every head that has one."""
    counts = [f"{found['about'][key]['title']:>16}  {found['counts'][key]:>4}" for key in found["roles"]]
    told = [f"{head:>14}  {found['sentences'][head]}" for head, own in found["told"].items() if own["clauses"]]
    lines = [f"{found['sample']}, run {run_id}", *counts, f"{'no role':>16}  {found['counts']['none']:>4}"]
    return "\n".join([*lines, "", *told] if told else lines)
