"""A worker gives memory back once its work is done."""

from __future__ import annotations

import platform
import subprocess
import sys
from pathlib import Path

import pytest

from headscope.runs.client import submit
from headscope.runs.execution import worker
from headscope.runs.execution.worker import Worker
from headscope.runs.kinds.facts import FactsQuery
from headscope.runs.run import DONE
from headscope.runs.store import Store

ROOT = Path(__file__).parents[3]
FREED = """
import ctypes, os, psutil
from headscope.runs.execution.process_memory import trim
libc = ctypes.CDLL(None)
libc.malloc.restype, libc.malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
libc.free.argtypes = [ctypes.c_void_p]
blocks = [libc.malloc(100_000) for _ in range(1000)]
for block in blocks:
    ctypes.memset(block, 1, 100_000)
for block in blocks[:-1]:  # the last one is on top and keeps the C library from giving back those below
    libc.free(block)
before = psutil.Process().memory_info().rss
trim()
print((before - psutil.Process().memory_info().rss) // 2**20)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="another C library is left alone")
def test_memory_that_was_freed_goes_back_to_the_system() -> None:
    told = subprocess.run([sys.executable, "-c", FREED], cwd=ROOT, capture_output=True, text=True, check=True)
    assert int(told.stdout) > 80


def test_a_worker_trims_once_after_its_work_and_not_without(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trimmed: list[bool] = []
    monkeypatch.setattr(worker, "SECONDS_UNTIL_TRIMMED", 0.1)
    monkeypatch.setattr(worker, "trim", lambda: trimmed.append(True))
    monkeypatch.setattr("headscope.runs.client.supervise", lambda _: None)
    store = Store(tmp_path)
    Worker(store, "interactive", seconds_idle=0.4).work()
    assert trimmed == []
    run = submit(store, FactsQuery("reader"))
    Worker(store, "interactive", seconds_idle=0.4).work()
    assert store.get(run.id).state == DONE
    assert trimmed == [True]
