"""How much may be asked of a server: settings of the environment, each with the sentence that refuses more."""

from __future__ import annotations

import os
from dataclasses import dataclass

from headscope.models.text import shown

MB = 2**20
MOST = 10**9
DEMO = "HEADSCOPE_DEMO"


@dataclass(frozen=True)
class Setting:
    """A whole number from 1 on that the environment may set; `about` says what it counts."""

    variable: str
    default: int
    about: str

    @property
    def value(self) -> int:
        """The number that holds now."""
        given = os.environ.get(self.variable) or str(self.default)
        if not given.isascii() or not given.isdecimal() or not 1 <= int(given) <= MOST:
            raise ValueError(f"{self.variable} is {given[:40]!r}; allowed is a whole number from 1 to {MOST}")
        return int(given)


UPLOAD = Setting("HEADSCOPE_MAX_UPLOAD_MB", 50, "megabytes of an uploaded file")
TEXT = Setting("HEADSCOPE_MAX_TEXT", 20_000, "characters of a text that somebody types")
JOBS = Setting("HEADSCOPE_MAX_JOBS", 100, "runs of one user that wait or run")
QUEUE = Setting("HEADSCOPE_MAX_QUEUE", 500, "runs of all users that wait or run")
SETTINGS = (UPLOAD, TEXT, JOBS, QUEUE)


def demo() -> bool:
    """Whether this server shows specimens only: HEADSCOPE_DEMO, 0 by default."""
    given = os.environ.get(DEMO) or "0"
    if given not in ("0", "1"):
        raise ValueError(f"{DEMO} is {given[:40]!r}; allowed is 0 or 1")
    return given == "1"


def check_upload(name: str, n_bytes: int) -> None:
    """Refuses a file that is too large."""
    most = UPLOAD.value
    if n_bytes > most * MB:
        raise ValueError(f"{shown(name)} has {n_bytes / MB:.1f} MB; at most {most} are allowed here")


def check_text(text: str) -> None:
    """Refuses a text that is too long."""
    most = TEXT.value
    if len(text) > most:
        raise ValueError(f"a text of {len(text):,} characters; at most {most:,} are allowed here")


def check_queue(n_own: int, n_all: int) -> None:
    """Refuses one more run where so many of its owner, and of all, wait or run already."""
    if n_own >= JOBS.value:
        raise ValueError(
            f"{n_own} of your runs wait or run already, which is the most allowed here; cancel one or wait"
        )
    if n_all >= QUEUE.value:
        raise ValueError(f"{n_all} runs wait or run already, which is the most allowed here; try again later")
