"""What a command judges a model by: one of our tasks, or somebody's own data, and on which split."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from commands.progress import say

if TYPE_CHECKING:
    from models.head_model import HeadModel
    from tasks.task import Task

HUB = "hub:"


def task_arguments(parser: ArgumentParser, split: str) -> None:
    """The task or the data, and the split, by default the one given here."""
    parser.add_argument("--task", default="", help="one that `cli.py tasks` lists; by default what fits the model")
    parser.add_argument(
        "--data",
        "--text",
        default="",
        metavar="FILE",
        help="your own text, TSV, CSV, JSONL or CoNLL-U file, or hub:OWNER/NAME; a table of WAV files for Whisper",
    )
    parser.add_argument("--columns", nargs="+", default=[], metavar="ROLE=NAME", help="text=, pair=, label=, target=")
    parser.add_argument("--split", default=split, help=f"calibration, development or test (default: {split})")


def judged_by(options: Namespace) -> dict[str, Any]:
    """The fields of a run that say what the model is judged by; a worker may read the file from another folder."""
    local = options.data and not options.data.startswith(HUB)
    data = str(Path(options.data).absolute()) if local else options.data
    return {"task": options.task, "data": data, "columns": _columns(options), "split": options.split}


def task_of(options: Namespace, head_model: HeadModel) -> Task:
    """The task itself; what was skipped of a file is told."""
    from tasks.chosen import chosen_task

    task, skipped = chosen_task(head_model, options.task, options.data, _columns(options))
    for one in skipped:
        say(f"skipped {one}")
    return task


def _columns(options: Namespace) -> dict[str, str]:
    return dict(pair.partition("=")[::2] for pair in options.columns)
