"""What a command says while it works: on standard error, so that its answer stays alone on standard output."""

from __future__ import annotations

import shutil
import sys

CELLS = 20
"""Of a bar."""


def show_progress(text: str) -> None:
    """Shows one line that the next one replaces, in a terminal only; an empty text takes it away."""
    if sys.stderr.isatty():
        sys.stderr.write(f"\r\x1b[K{text[: shutil.get_terminal_size().columns - 1]}")  # only one line is replaced
        sys.stderr.flush()


def bar(share: float) -> str:
    """A share from 0 to 1 as a bar of so many cells."""
    full = round(CELLS * min(max(share, 0.0), 1.0))
    return "█" * full + "░" * (CELLS - full)


def say(text: str) -> None:
    """Says something that stays."""
    sys.stderr.write(f"headscope: {text}\n")
    sys.stderr.flush()
