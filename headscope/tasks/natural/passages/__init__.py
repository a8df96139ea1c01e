"""Passages in six registers, each of 120 to 200 words: long enough to judge a language model by."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

TASK = "passages"
"""The key of the task that they make."""

REGISTERS = ("report", "story", "dialogue", "how-to", "argument", "code")
"""Each is a file beside this one."""

HEADING = re.compile(r"^=== (.+)\n", re.MULTILINE)


@dataclass(frozen=True)
class WrittenPassage:
    """A text as it stands in its file, with its line breaks, and its title, which is no part of the text."""

    title: str
    text: str


@cache
def passages() -> dict[str, tuple[WrittenPassage, ...]]:
    """The passages of every register, in the order of its file."""
    return {register: tuple(_read(_file(register))) for register in REGISTERS}


@cache
def mark() -> str:
    """A hash of all texts: what is measured on other texts is something else."""
    return hashlib.sha256(b"".join(_file(register).read_bytes() for register in REGISTERS)).hexdigest()[:16]


def _file(register: str) -> Path:
    return Path(__file__).with_name(f"{register}.txt")


def _read(file: Path) -> list[WrittenPassage]:
    _, *parts = HEADING.split(file.read_text(encoding="utf-8"))  # before the first heading stands nothing
    return [WrittenPassage(title, text.strip()) for title, text in zip(parts[::2], parts[1::2], strict=True)]
