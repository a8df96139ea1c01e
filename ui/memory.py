"""Keeps the memory of the server near what it needs, where the C library would rather keep what was freed."""

from __future__ import annotations

import ctypes
import platform

M_MMAP_THRESHOLD, M_ARENA_MAX = -3, -8  # as in glibc's malloc.h
LARGE = 256 * 1024
"""Bytes from which a block is a mapping of its own, which goes back to the system when it is freed."""

POOLS = 2
"""Pools that threads share. Every turn of a page is a thread, and a pool of its own would keep what it once took."""


def give_memory_back() -> None:
    """Tells the C library so; one that cannot be told is left alone."""
    if platform.libc_ver()[0] == "glibc":
        library = ctypes.CDLL(None)
        library.mallopt(M_MMAP_THRESHOLD, LARGE)
        library.mallopt(M_ARENA_MAX, POOLS)
