"""What each head is for."""

from __future__ import annotations

import csv
from argparse import ArgumentParser, Namespace
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headscope.cli.arguments import SPELT, mask_of, model_argument
from headscope.cli.command import Answer, Command, register
from headscope.cli.finished_run import finished
from headscope.cli.terminal import show_progress

if TYPE_CHECKING:
    from headscope.models.heads import HeadId


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
        parser.add_argument(
            "--task", default="", help="read what one of our tasks reads, as a smaller model of a specimen would"
        )
        parser.add_argument(
            "--option",
            nargs="+",
            default=[],
            metavar="ROLE.NAME=VALUE",
            help="thresholds, such as syntactic.margin=0.15; by default those of the papers",
        )
        parser.add_argument(
            "--mask",
            default="",
            metavar="HEADS",
            help=f"also tell how many heads of each role are left without {SPELT}",
        )
        parser.add_argument("--split", default="development", help="calibration, development or test")
        parser.add_argument("--n", type=int, default=600, help="examples (default: 600)")
        parser.add_argument("--csv", action="store_true", help="print a table to be read by other programs")

    def run(self, options: Namespace) -> Answer:
        """Looks for the roles, or finds what was found."""
        from headscope.analysis.roles.thresholds import read_thresholds
        from headscope.runs.kinds.roles import RolesRun
        from headscope.runs.store import Store

        if options.parser and not options.trees:
            raise ValueError(f"--parser {options.parser} without --trees; it parses the texts of a file")
        data = str(Path(options.trees).absolute()) if options.trees else ""
        thresholds = read_thresholds(options.option)
        reads = {"data": data, "parser": options.parser, "task": options.task, "split": options.split, "n": options.n}
        removed = _removed(options)
        run = finished(Store(), RolesRun(options.model, options=thresholds, **reads))
        found: dict[str, Any] = run.result or {}
        left = _left(found, removed) if options.mask else {}
        text = _as_csv(found) if options.csv else _as_text(found, run.id, left)
        return {"roles": found["roles"]} | ({"left": left} if left else {}), text


def _as_csv(found: dict[str, Any]) -> str:
    written = StringIO()
    table = csv.writer(written, lineterminator="\n")
    table.writerow(["role", "head", "score", "baseline", "n", "verdict", "case"])
    for role, own in found["roles"].items():
        for head, one in own.items():
            numbers = [one[name] for name in ("score", "baseline", "n", "verdict")]
            table.writerow([role, head, *numbers, one["detail"]["case"]])
    return written.getvalue().rstrip("\n")


def _removed(options: Namespace) -> frozenset[HeadId]:
    """The heads of the mask, which must be heads of the model."""
    from headscope.pruning.fiak.model_folder import load_model

    if not options.mask:
        return frozenset()
    head_model = load_model(options.model, "auto", "auto", show_progress)
    show_progress("")
    return mask_of(options.mask, head_model).removed


def _left(found: dict[str, Any], removed: frozenset[HeadId]) -> dict[str, int]:
    """How many heads of each role are left; one with several roles counts in each."""
    from headscope.analysis.roles.role_importance import surviving
    from headscope.models.heads import HeadId

    verdicts = {
        key: {HeadId.parse(head): _Verdict(one["verdict"]) for head, one in own.items()}
        for key, own in found["roles"].items()
    }
    return {key: survivors.kept for key, survivors in surviving(verdicts, removed).items()}


@dataclass(frozen=True)
class _Verdict:
    verdict: bool


def _as_text(found: dict[str, Any], run_id: str, left: dict[str, int]) -> str:
    """How many heads have each role, and are left of them; then a sentence on every head that has one."""
    names = {key: found["about"][key]["title"] for key in found["roles"]} | {"none": "no role"}
    of_left = {key: f"  {number:>4} left" for key, number in left.items()}
    counts = [f"{name:>16}  {found['counts'][key]:>4}{of_left.get(key, '')}" for key, name in names.items()]
    told = [f"{head:>14}  {found['sentences'][head]}" for head, own in found["told"].items() if own["clauses"]]
    lines = [f"{found['sample']}, run {run_id}", *counts]
    return "\n".join([*lines, "", *told] if told else lines)
