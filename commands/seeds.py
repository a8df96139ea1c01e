"""Numbers as every command takes them: a seed, a whole number, a number; each within bounds."""

from __future__ import annotations

import math
import re
from argparse import ArgumentTypeError

from models.shown import shown

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
