from __future__ import annotations

from pathlib import Path

import pytest

from headscope.runs import client
from headscope.runs.client import submit, wait
from headscope.runs.execution.process import Identity
from headscope.runs.run import FAILED, QUERY, QUEUED, Run
from headscope.runs.store import MOST_ATTEMPTS, Store
from tests.runs.counting import Counting

DEAD = Identity(2**22 + 1, 0.0)


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


def die(store: Store, run: Run) -> str:
    """The state of a run after a worker took it up and died."""
    assert store.claim_one(run.id, DEAD) is not None
    store.recover()
    return store.get(run.id).state


def test_a_question_that_its_workers_die_of_is_not_asked_again_by_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "supervise", lambda _: None)
    store, kind = Store(tmp_path), Counting("a", serve=QUERY)
    run = submit(store, kind)
    assert [die(store, run) for _ in range(MOST_ATTEMPTS)] == [QUEUED] * (MOST_ATTEMPTS - 1) + [FAILED]
    assert store.is_given_up(run.id)
    assert submit(store, kind).state == FAILED
    store.resume(run.id)
    assert die(store, run) == FAILED, "whoever resumes it gets one attempt more"
    assert submit(store, kind).state == FAILED


def test_a_question_whose_worker_lives_is_asked_again_however_often_it_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "supervise", lambda _: None)
    store, kind = Store(tmp_path), Counting("a", serve=QUERY)
    for _ in range(2 * MOST_ATTEMPTS):
        run = submit(store, kind)
        assert run.state == QUEUED
        assert store.claim_one(run.id, Identity.own()) is not None
        store.end(run.id, FAILED, "for a test")
