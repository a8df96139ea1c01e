"""Foreign text: whether it can be kept, how a message repeats it, and panics of libraries in Rust."""

from __future__ import annotations

UNPRINTABLE = "\N{REPLACEMENT CHARACTER}"


def is_text(text: str) -> bool:
    """Whether it can be written at all; halves of surrogate pairs, as strange file names have them, cannot."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def shown(text: str, most: int = 80) -> str:
    """The text on one line of at most `most` characters, without any that does not print."""
    cut = text if len(text) <= most else text[: most - 1] + "…"
    return "".join(letter if letter.isprintable() else UNPRINTABLE for letter in cut)


def is_panic(error: BaseException) -> bool:
    """Detects Rust panics raised through PyO3, whose class no module offers."""
    return type(error).__module__ == "pyo3_runtime"
