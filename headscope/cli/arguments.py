"""Arguments that several commands take: the model, what judges it, heads, a seed."""

from __future__ import annotations

import json
import math
import re
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headscope.cli.terminal import say, show_progress
from headscope.models.text import shown

if TYPE_CHECKING:
    from headscope.models.head_model import HeadModel
    from headscope.pruning.masks import HeadMask
    from headscope.tasks.task import Task

HUB = "hub:"


def task_arguments(parser: ArgumentParser, split: str) -> None:
    """The task or the data, and the split, by default the one given here."""
    parser.add_argument("--task", default="", help="one that `headscope tasks` lists; by default what fits the model")
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
    from headscope.tasks.task_selection import chosen_task

    task, skipped = chosen_task(head_model, options.task, options.data, _columns(options))
    for one in skipped:
        say(f"skipped {one}")
    return task


def _columns(options: Namespace) -> dict[str, str]:
    return dict(pair.partition("=")[::2] for pair in options.columns)


def model_argument(parser: ArgumentParser) -> None:
    """Which model."""
    parser.add_argument("model", help="a specimen, a folder or a hub id")


def device_arguments(parser: ArgumentParser) -> None:
    """Where and how precisely it computes."""
    parser.add_argument("--device", default="auto", help="auto, cpu, cuda or mps")
    parser.add_argument("--dtype", default="auto", help="auto, float32, float16 or bfloat16")


def loaded(options: Namespace) -> HeadModel:
    """The model of these two groups of arguments."""
    from headscope.pruning.fiak.model_folder import load_model

    head_model = load_model(options.model, options.device, options.dtype, show_progress)
    show_progress("")
    return head_model


SPELT = 'addresses such as "encoder.0.3 cross.5.1", or a .json file with a mask'


def mask_of(text: str, head_model: HeadModel) -> HeadMask:
    """The mask that addresses, or a file that holds one as JSON, give."""
    from headscope.pruning.masks import HeadMask

    if not text.endswith(".json"):
        return HeadMask.of(head_model.grid, text)
    try:
        return HeadMask.from_json(head_model.grid, Path(text).read_text(encoding="utf-8"))
    except (OSError, UnicodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise ValueError(f"cannot read the mask {shown(text)}: {reason}") from error


def addresses(text: str) -> str:
    """The addresses in one order, so that the same heads are the same run; those of a file where one is named."""
    from headscope.models.heads import HeadId

    if text.endswith(".json"):
        try:
            text = " ".join(json.loads(Path(text).read_text(encoding="utf-8"))["removed"])
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise ValueError(f"cannot read the mask {text}; allowed is a file that holds one as JSON") from error
    heads = {HeadId.parse(word) for word in text.replace(",", " ").split()}
    if not heads:
        raise ValueError("no heads to remove; give addresses such as encoder.0.3")
    return " ".join(str(head) for head in sorted(heads))


LARGEST = 2**32 - 1
"""What every generator of random numbers takes that is used here."""


MOST = 1_000_000
"""The largest count of anything that a command takes: what is larger would take all memory, or never end."""


def seed(text: str) -> int:
    """The number that was given."""
    if not text.isdecimal() or len(text) > len(str(LARGEST)) or int(text) > LARGEST:
        raise ArgumentTypeError(f"{text[:40]!r} is no seed; allowed are whole numbers from 0 to {LARGEST}")
    return int(text)


def whole(text: str) -> int:
    """A whole number; the least that is allowed is the business of the option."""
    if not re.fullmatch(r"[+-]?[0-9]{1,30}", text) or abs(int(text)) > MOST:
        raise ArgumentTypeError(f"{shown(text, 40)!r} is not allowed; allowed are whole numbers up to {MOST}")
    return int(text)


def number(text: str) -> float:
    """A number that is one."""
    try:
        found = float(text)
    except ValueError:
        found = math.nan
    if not abs(found) <= MOST:
        raise ArgumentTypeError(f"{shown(text, 40)!r} is not allowed; allowed are numbers up to {MOST}")
    return found
