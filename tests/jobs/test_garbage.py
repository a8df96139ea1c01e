"""A row of the store or a home that nobody can read: one sentence, and nobody else is held up."""

from __future__ import annotations

import os
import re
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from jobs.client import run_here
from jobs.process import Identity
from jobs.run import DONE, FAILED, QUEUED, Run
from jobs.store import Store
from jobs.visitor_store import VisitorStore
from jobs.worker import Worker
from tests.bad_input.mutations import check_sentence
from tests.jobs.counting import Counting


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path)


def put(store: Store, run: Run, **columns: str) -> None:
    with closing(sqlite3.connect(store.path)) as connection:
        for name, value in columns.items():
            connection.execute(f"UPDATE runs SET {name} = ? WHERE id = ?", (value, run.id))
        connection.commit()


@pytest.mark.parametrize("garbage", ["{", "", "7", "null", "[" * 100_000])
def test_a_run_whose_question_cannot_be_read_fails_and_the_next_is_done(store: Store, garbage: str) -> None:
    broken, sound = (store.submit(Counting(name).as_run(store.folder)) for name in ("broken", "sound"))
    put(store, broken, spec=garbage)
    worker = Worker(store, "bench")
    assert worker.work_once()
    assert not worker.work_once()
    assert store.get(sound.id).state == DONE
    assert (store.get(broken.id).state, store.get(broken.id).spec) == (FAILED, {})
    check_sentence(store.get(broken.id).message)
    assert {run.id for run in store.runs()} == {broken.id, sound.id}
    VisitorStore(store.folder).delete(broken.id)
    assert [run.id for run in store.runs()] == [sound.id]


def test_a_result_that_cannot_be_read_makes_a_failed_run_and_hides_no_other(store: Store) -> None:
    broken, sound = (run_here(store, Counting(name)) for name in ("broken", "sound"))
    put(store, broken, result="{")
    assert {run.id: run.state for run in store.runs()} == {broken.id: FAILED, sound.id: DONE}
    assert [run.id for run in store.runs((DONE,))] == [sound.id]


@pytest.mark.parametrize("garbage", ["nobody", "", "1 2 3", "-1 1.0", f"{10**30} 1.0", "1 x"])
def test_a_run_of_a_worker_that_is_none_is_taken_up_again(store: Store, garbage: str) -> None:
    run = store.submit(Counting("a").as_run(store.folder))
    store.claim_one(run.id, Identity.own())
    put(store, run, worker=garbage)
    assert store.recover() == 1
    assert store.get(run.id).state == QUEUED


def test_a_run_of_another_version_can_be_deleted(store: Store) -> None:
    run = run_here(store, Counting("a"))
    put(store, run, spec='{"model": "a", "no_such_field": 1}')
    VisitorStore(store.folder).delete(run.id)
    assert store.runs() == []


def test_a_start_without_a_home_that_can_be_used_is_one_sentence(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.write_text("a file")
    command = [sys.executable, "-m", "jobs.workers"]
    tried = subprocess.run(command, env=os.environ | {"HEADLIGHT_HOME": str(home)}, capture_output=True, check=False)
    assert tried.returncode == 1
    assert re.fullmatch(r"Headlight cannot start: .*home'?\n", tried.stderr.decode())
