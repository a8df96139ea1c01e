"""Errors of a disk as Python has them, from libraries that have their own."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from safetensors import SafetensorError


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turns what safetensors raises when it cannot write, on a full disk above all, into an OSError."""
    try:
        yield
    except SafetensorError as error:
        found = re.search(r"os error (\d{1,4})", str(error))
        number = int(found[1]) if found else errno.EIO
        raise OSError(number, os.strerror(number), str(path)) from error
