from __future__ import annotations

import math
import sqlite3
import threading
import time
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from headscope.runs import store as store_module
from headscope.runs.execution.process import Identity
from headscope.runs.run import CANCELLED, DONE, FAILED, LONG, QUERY, QUEUED, RUNNING, SHORT, Run
from headscope.runs.store import MOST_ATTEMPTS, Store
from tests.runs.counting import Counting

DEAD = Identity(2**22 + 1, 1.0)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path)


def ask(store: Store, kind: Counting) -> Run:
    return store.submit(kind.as_run(store.folder), kind.kept)


def test_the_same_spec_has_the_same_id_and_any_other_field_another(tmp_path: Path) -> None:
    first = Counting("a").as_run(tmp_path).id
    assert first == Counting("a").as_run(tmp_path).id
    others = {Counting("b").as_run(tmp_path).id, Counting("a", to=6).as_run(tmp_path).id}
    assert len(others | {first}) == 3


def test_a_failure_that_is_still_looked_at_holds_no_file_of_the_store_open(store: Store) -> None:
    with closing(sqlite3.connect(store.path)) as connection:
        connection.execute("DROP TABLE points")
    with pytest.raises(OSError, match="no such table") as failure:
        store.points("0123")
    assert failure.traceback
    assert not [file.path for file in psutil.Process().open_files() if Path(file.path).is_relative_to(store.folder)]


def test_the_id_follows_the_weights_and_the_data(tmp_path: Path) -> None:
    from headscope.runs.kinds.evaluation import EvaluationRun

    weights, data = tmp_path / "model.safetensors", tmp_path / "rows.csv"
    weights.write_bytes(b"one")
    data.write_text("text\nfirst")
    kind = EvaluationRun(str(tmp_path), data=str(data))
    seen = [kind.as_run(tmp_path).id]
    weights.write_bytes(b"two")
    seen.append(kind.as_run(tmp_path).id)
    data.write_text("text\nsecond")
    seen.append(kind.as_run(tmp_path).id)
    assert len(set(seen)) == 3


def test_the_id_follows_the_passages_where_they_may_judge(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from headscope.runs.kinds.evaluation import EvaluationRun
    from headscope.runs.kinds.roles import RolesRun

    def ids() -> list[str]:
        return [kind.as_run(tmp_path).id for kind in (*judged, *others)]

    (tmp_path / "rows.csv").write_text("text\nfirst")
    judged = (
        EvaluationRun(str(tmp_path)),
        EvaluationRun(str(tmp_path), task="passages"),
        EvaluationRun("writer", task="passages"),
    )
    others = (
        EvaluationRun("writer"),
        EvaluationRun(str(tmp_path), task="natural-text"),
        EvaluationRun(str(tmp_path), data=str(tmp_path / "rows.csv")),
        RolesRun(str(tmp_path)),
    )
    before = ids()
    monkeypatch.setattr("headscope.tasks.natural.passages.mark", lambda: "others")
    assert [one == other for one, other in zip(before, ids(), strict=True)] == [False] * 3 + [True] * 4


def test_a_run_that_was_asked_for_twice_is_there_once(store: Store) -> None:
    first = ask(store, Counting("a"))
    assert ask(store, Counting("a")) == first
    assert [run.id for run in store.runs()] == [first.id]


def test_what_pages_ask_again_and_again_needs_no_lock(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_module, "SECONDS_FOR_A_LOCK", 0.1)
    first = ask(store, Counting("a"))
    with closing(sqlite3.connect(store.path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        assert ask(store, Counting("a")) == first
        assert store.recover() == 0
        with pytest.raises(OSError, match="locked"):
            ask(store, Counting("b"))


def test_questions_go_before_short_runs_and_the_oldest_first(store: Store) -> None:
    kinds = [Counting("a", serve=SHORT), Counting("b", serve=SHORT), Counting("c", serve=QUERY), Counting("d")]
    for kind in kinds:
        ask(store, kind)
        time.sleep(0.002)
    own = Identity.own()
    order = [store.claim((QUERY, SHORT), own).model for _ in range(3)]
    assert order == ["c", "a", "b"]
    assert store.claim((QUERY, SHORT), own) is None
    assert store.claim((LONG,), own).model == "d"


def test_many_workers_at_once_never_take_the_same_run(store: Store) -> None:
    for number in range(24):
        ask(store, Counting("a", to=number + 1))
    taken: list[str] = []

    def work() -> None:
        while (run := store.claim((LONG,), Identity.own())) is not None:
            taken.append(run.id)

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(taken) == len(set(taken)) == 24


def test_a_run_of_a_dead_worker_is_taken_up_again_and_one_of_a_living_worker_is_not(store: Store) -> None:
    lost, living = ask(store, Counting("lost")), ask(store, Counting("living"))
    store.claim_one(lost.id, DEAD)
    store.claim_one(living.id, Identity.own())
    assert store.recover() == 1
    assert (store.get(lost.id).state, store.get(living.id).state) == (QUEUED, RUNNING)


def test_another_process_with_the_number_of_a_dead_worker_is_not_taken_for_it(store: Store) -> None:
    own = Identity.own()
    assert own.alive
    assert not replace(own, started=own.started - 100).alive
    run = ask(store, Counting("a"))
    store.claim_one(run.id, replace(own, started=own.started - 100))
    assert store.recover() == 1


def test_a_run_that_kills_its_workers_fails_in_the_end_and_can_be_resumed(store: Store) -> None:
    run = ask(store, Counting("a"))
    for _ in range(MOST_ATTEMPTS):
        assert store.claim_one(run.id, DEAD) is not None
        store.recover()
    assert store.get(run.id).state == FAILED
    assert "died 5 times" in store.get(run.id).message
    store.resume(run.id)
    assert store.get(run.id).state == QUEUED


def test_points_are_read_from_where_somebody_stopped_reading(store: Store) -> None:
    run = ask(store, Counting("a"))
    store.advance(run.id, 2, 5, [{"number": 0}, {"number": 1}])
    store.advance(run.id, 3, 5, [{"number": 2}])
    assert [point["number"] for point in store.points(run.id)] == [0, 1, 2]
    assert [point["number"] for point in store.points(run.id, after=2)] == [2]


def test_time_left_comes_from_the_speed_since_the_run_was_taken_up(store: Store) -> None:
    run = ask(store, Counting("a"))
    store.advance(run.id, 6, 10)
    store.claim_one(run.id, Identity.own())
    assert store.get(run.id).seconds_left(time.time()) is None
    store.advance(run.id, 8, 10)
    now = store.get(run.id)
    assert now.seconds_left(now.started + 4) == pytest.approx(4)


def test_a_waiting_run_is_cancelled_at_once_and_a_running_one_is_asked_to_stop(store: Store) -> None:
    waiting, running = ask(store, Counting("a")), ask(store, Counting("b"))
    store.claim_one(running.id, Identity.own())
    store.cancel(waiting.id)
    store.cancel(running.id)
    assert store.get(waiting.id).state == CANCELLED
    assert store.get(running.id).state == RUNNING
    assert not store.advance(running.id, 1, 5)


def test_only_a_run_that_has_ended_can_be_deleted_and_its_folder_goes_with_it(store: Store) -> None:
    run = ask(store, Counting("a"))
    run.folder.mkdir()
    store.advance(run.id, 1, 5, [{"number": 0}])
    with pytest.raises(ValueError, match="is queued; cancel it before"):
        store.delete(run.id)
    store.end(run.id, DONE, result={})
    store.delete(run.id)
    assert not run.folder.exists()
    assert store.points(run.id) == []
    with pytest.raises(KeyError, match="no run"):
        store.get(run.id)


def test_a_list_is_all_runs_without_their_results(store: Store) -> None:
    done, failed = ask(store, Counting("a")), ask(store, Counting("b"))
    store.end(done.id, DONE, result={"long": "result"})
    store.end(failed.id, FAILED, "for a reason")
    assert store.listed() == [replace(run, result=None) for run in store.runs()]
    assert store.listed(n=1) == store.listed()[:1]


def test_pruning_deletes_what_ended_long_ago(store: Store) -> None:
    old, new, waiting = (ask(store, Counting(name)) for name in ("old", "new", "waiting"))
    for run in (old, new):
        store.end(run.id, DONE, result={})
    with store._transaction() as connection:
        connection.execute("UPDATE runs SET finished = 1000 WHERE id = ?", (old.id,))
    assert store.prune(3600) == 1
    assert {run.id for run in store.runs()} == {new.id, waiting.id}


@pytest.mark.parametrize("seconds", [-5.0, math.nan, math.inf, -math.inf])
def test_pruning_refuses_what_is_no_time_ago(store: Store, seconds: float) -> None:
    run = ask(store, Counting("new"))
    store.end(run.id, DONE, result={})
    with pytest.raises(ValueError, match="allowed is a number from 0 on"):
        store.prune(seconds)
    assert [one.id for one in store.runs()] == [run.id]


def test_two_processes_may_open_the_same_store(store: Store) -> None:
    run = ask(store, Counting("a"))
    assert Store(store.folder).get(run.id) == run


def test_a_glance_tells_of_the_same_runs_in_the_same_order(store: Store) -> None:
    for model in "abc":
        ask(store, Counting(model))
    store.submit(Counting("d").as_run(store.folder), kept=False)
    store.advance(store.runs()[0].id, 2, 5)
    told = [(run.id, run.title, run.state, run.done, run.total) for run in store.runs()]
    assert store.glance() == told
    assert len(told) == 3


def test_a_glance_shows_an_owner_their_own_runs_alone(tmp_path: Path) -> None:
    ask(Store(tmp_path, "ada"), Counting("a"))
    assert (len(Store(tmp_path, "ada").glance()), Store(tmp_path, "bob").glance()) == (1, [])
