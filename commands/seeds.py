"""The option --seed, as every command with one takes it."""

from __future__ import annotations

from argparse import ArgumentTypeError

LARGEST = 2**32 - 1
"""What every generator of random numbers takes that is used here."""


def seed(text: str) -> int:
    """The number that was given."""
    if not text.isdecimal() or len(text) > len(str(LARGEST)) or int(text) > LARGEST:
        raise ArgumentTypeError(f"{text[:40]!r} is no seed; allowed are whole numbers from 0 to {LARGEST}")
    return int(text)
