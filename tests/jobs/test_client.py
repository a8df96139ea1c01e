from __future__ import annotations

from pathlib import Path

from jobs.client import wait
from jobs.run import Run
from jobs.store import Store
from tests.jobs.counting import Counting


def test_who_waits_for_long_looks_at_once_and_then_rarely(tmp_path: Path) -> None:
    looked: list[str] = []

    class Watched(Store):
        def get(self, run_id: str) -> Run:
            looked.append(run_id)
            return super().get(run_id)

    store = Watched(tmp_path)
    run = store.submit(Counting("a").as_run(tmp_path))
    looked.clear()
    wait(store, run, 0.1)
    assert looked, "a quick answer is seen at once"
    looked.clear()
    wait(store, run, 1.0)
    assert 1 <= len(looked) <= 15
