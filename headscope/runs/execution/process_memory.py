"""Gives memory back to the system that was freed, where the C library would rather keep it."""

from __future__ import annotations

import ctypes
import platform


def trim() -> None:
    """Calls glibc's malloc_trim; no-op elsewhere."""
    if platform.libc_ver()[0] == "glibc":
        ctypes.CDLL(None).malloc_trim(0)


M_MMAP_THRESHOLD, M_ARENA_MAX = -3, -8  # as in glibc's malloc.h
LARGE = 256 * 1024
"""Bytes from which a block is a mapping of its own, which goes back to the system when it is freed."""

POOLS = 2
"""Pools that threads share. Every turn of a page is a thread, and a pool of its own would keep what it once took."""


def limit_freed_memory() -> None:
    """Sets glibc's thresholds by mallopt; no-op elsewhere."""
    if platform.libc_ver()[0] == "glibc":
        library = ctypes.CDLL(None)
        library.mallopt(M_MMAP_THRESHOLD, LARGE)
        library.mallopt(M_ARENA_MAX, POOLS)
