"""A row of the store or a home that nobody can read: one sentence, and nobody else is held up."""

from __future__ import annotations

import json
import os
import re
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from headscope.runs.client import run_here
from headscope.runs.execution.process import Identity
from headscope.runs.execution.worker import Worker
from headscope.runs.policy.visitor_store import VisitorStore
from headscope.runs.run import DONE, FAILED, QUERY, QUEUED, Run
from headscope.runs.store import Store
from headscope.runs.store_rows import opened
from tests.bad_input.mutations import check_sentence
from tests.runs.counting import Counting


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path)


def put(store: Store, run: Run, **columns: Any) -> None:
    with closing(sqlite3.connect(store.path)) as connection:
        for name, value in columns.items():
            connection.execute(f"UPDATE runs SET {name} = ? WHERE id = ?", (value, run.id))
        connection.commit()


@pytest.mark.parametrize("garbage", ["{", "", "7", "null", "[" * 100_000])
def test_a_run_whose_question_cannot_be_read_fails_and_the_next_is_done(store: Store, garbage: str) -> None:
    broken, sound = (store.submit(Counting(name).as_run(store.folder)) for name in ("broken", "sound"))
    put(store, broken, spec=garbage)
    worker = Worker(store, "batch")
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


NOT_UTF_8 = b"\xff\xfe"
OF_COLUMNS: dict[str, list[Any]] = {
    "result": [NOT_UTF_8, b"{}", 7, "", '{"numbers": [0]}x'],
    "spec": [NOT_UTF_8, 1.5],
    "record": [NOT_UTF_8, "[]"],
    "title": [NOT_UTF_8],
    "model": [NOT_UTF_8],
    "message": [NOT_UTF_8],
    "state": [NOT_UTF_8, "donf"],
    "created": ["yesterday", 1e300, float("inf"), NOT_UTF_8],
    "finished": ["never", 1e300],
    "done": ["many", 2**62, 0.5],
    "total": [NOT_UTF_8],
}


@pytest.mark.parametrize(("column", "garbage"), [(name, one) for name, given in OF_COLUMNS.items() for one in given])
def test_a_row_that_cannot_be_read_is_listed_as_broken_and_can_be_deleted(
    column: str, garbage: Any, store: Store
) -> None:
    broken, sound = (run_here(store, Counting(name)) for name in ("broken", "sound"))
    put(store, broken, **{column: garbage})
    found = store.get(broken.id)
    assert (found.state, found.broken) == (FAILED, True)
    assert found.message == f"its {column} in the store cannot be read; delete it and ask for it again"
    assert {run.id for run in store.runs()} == {run.id for run in store.listed()} == {broken.id, sound.id}
    assert {one[0] for one in store.glance()} == {broken.id, sound.id}
    json.dumps([store.glance(), found.title, found.record, found.seconds(0.0), found.share]).encode()
    VisitorStore(store.folder).delete(broken.id)
    assert [run.id for run in store.runs()] == [sound.id]


def test_every_flipped_bit_of_a_result_or_a_point_is_noticed(store: Store) -> None:
    run = run_here(store, Counting("a", to=2))
    for column, table in (("result", "runs"), ("point", "points")):
        with closing(sqlite3.connect(store.path)) as connection:
            (text,) = connection.execute(f"SELECT {column} FROM {table} ORDER BY 1 LIMIT 1").fetchone()
        for place in range(8 * len(text)):
            flipped = bytearray(text.encode())
            flipped[place // 8] ^= 1 << place % 8
            with pytest.raises(ValueError):
                opened(str(flipped, "utf-8", "surrogateescape"))
    assert opened('{"of": "an older version"}') == {"of": "an older version"}
    assert store.get(run.id) == run


def test_a_broken_run_that_is_asked_for_again_begins_anew(store: Store) -> None:
    broken, sound = (run_here(store, Counting(name, serve=QUERY)) for name in ("broken", "sound"))
    put(store, broken, result=b"\xff")
    assert run_here(store, Counting("broken", serve=QUERY)).result == sound.result
    with closing(sqlite3.connect(store.path)) as connection:
        connection.execute("UPDATE points SET point = ? WHERE run = ? AND number = 1", ('{"number": 8', broken.id))
        connection.commit()
    with pytest.raises(ValueError, match=f"a point of the run {broken.id} in the store cannot be read; delete it and"):
        store.points(broken.id)
    assert store.get(broken.id).broken
    assert run_here(store, Counting("broken", serve=QUERY)).result == sound.result
    assert store.points(broken.id) == store.points(sound.id)


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
    command = [sys.executable, "-m", "headscope.runs.execution.workers"]
    tried = subprocess.run(command, env=os.environ | {"HEADSCOPE_HOME": str(home)}, capture_output=True, check=False)
    assert tried.returncode == 1
    assert re.fullmatch(r"Headscope cannot start: .*home'?\n", tried.stderr.decode())
