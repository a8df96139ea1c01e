"""What the server keeps after many threads took memory and freed it; each case is a process of its own."""

from __future__ import annotations

import platform
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
THREADS = 8
TURNS = """
import threading, psutil
{first}
del_me = bytearray(24 << 20)  # a large block that is freed makes the C library keep blocks of that size from then on
del del_me
before = psutil.Process().memory_info().rss
together = threading.Barrier({threads})

def turn():
    report = [bytearray(3 << 20) for _ in range(4)]
    together.wait()  # all at once, so that each thread takes a pool of its own if it may
    del report
    together.wait()

threads = [threading.Thread(target=turn) for _ in range({threads})]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print((psutil.Process().memory_info().rss - before) / 2**20)
"""


def kept(first: str) -> float:
    """The MB that a process has more after its threads took and freed 12 MB each."""
    code = TURNS.format(first=first, threads=THREADS)
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    return float(done.stdout)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="another C library")
def test_what_threads_freed_goes_back_to_the_system() -> None:
    assert (
        kept("from headscope.runs.execution.process_memory import limit_freed_memory; limit_freed_memory()")
        < 5
        < 20
        < kept("")
    )


def test_the_server_gives_memory_back() -> None:
    assert (
        "limit_freed_memory()"
        in (ROOT / "headscope" / "web" / "app" / "asgi.py").read_text(encoding="utf-8").splitlines()
    )
