"""What a command says while it works: on standard error, so that its answer stays alone on standard output."""

from __future__ import annotations

import sys


def show_progress(text: str) -> None:
    """Shows one line that the next one replaces, in a terminal only; an empty text takes it away."""
    if sys.stderr.isatty():
        sys.stderr.write(f"\r\x1b[K{text}")
        sys.stderr.flush()


def say(text: str) -> None:
    """Says something that stays."""
    sys.stderr.write(f"headlight: {text}\n")
    sys.stderr.flush()
