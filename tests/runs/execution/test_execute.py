from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import pytest

import headscope.runs.data_dir
from headscope.runs.client import run_here
from headscope.runs.execution.execute import execute
from headscope.runs.execution.model_cache import ModelCache
from headscope.runs.execution.process import Identity
from headscope.runs.execution.worker import Worker
from headscope.runs.kinds.evaluation import EvaluationRun
from headscope.runs.kinds.importance import ImportanceRun
from headscope.runs.run import CANCELLED, DONE, FAILED, QUERY, QUEUED, RUNNING, SHORT, STOPPED, Run
from headscope.runs.store import Store
from tests.runs.counting import Counting, on_step
from tests.runs.killing import KILLED, forked


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path)


def go(store: Store, kind: Counting) -> Run:
    run = store.submit(kind.as_run(store.folder), kind.kept)
    store.resume(run.id)
    claimed = store.claim_one(run.id, Identity.own())
    assert claimed is not None
    execute(store, claimed, ModelCache())
    return store.get(run.id)


def test_a_run_ends_with_its_points_its_result_and_its_circumstances(store: Store) -> None:
    run = go(store, Counting("a", to=4))
    assert run.state == DONE
    assert run.result == {"numbers": [0, 1, 2, 3]}
    assert [point["number"] for point in store.points(run.id)] == [0, 1, 2, 3]
    assert run.record["fingerprint"] == run.fingerprint
    assert {"torch", "transformers", "python"} <= set(run.record["versions"])
    assert run.share == 1.0


def test_a_cancelled_run_keeps_its_points_and_goes_on_from_them(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headscope.runs.execution.execute.SECONDS_BETWEEN_WRITES", 0.0)
    kind = Counting("cancelled", to=6)
    run_id = kind.as_run(store.folder).id
    steps: list[int] = []
    monkeypatch.setitem(on_step, "cancelled", lambda number: store.cancel(run_id) if number == 2 else None)
    assert go(store, kind).state == CANCELLED
    assert 0 < len(store.points(run_id)) < 6
    monkeypatch.setitem(on_step, "cancelled", steps.append)
    before = len(store.points(run_id))
    assert go(store, kind).result == {"numbers": [0, 1, 2, 3, 4, 5]}
    assert steps == list(range(before, 6))


def test_bad_input_is_one_sentence_and_anything_else_names_itself(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    def bad(number: int) -> None:
        raise ValueError(f"{number} is no head; allowed is encoder.0.1")

    def surprising(number: int) -> None:
        raise RuntimeError(f"{number} surprises\nand a second line")

    monkeypatch.setitem(on_step, "bad", bad)
    monkeypatch.setitem(on_step, "surprising", surprising)
    failed = go(store, Counting("bad"))
    assert (failed.state, failed.message) == (FAILED, "0 is no head; allowed is encoder.0.1")
    failed = go(store, Counting("surprising"))
    assert failed.message == "unexpected RuntimeError: 0 surprises; the worker's log has more"


def test_a_full_disk_stops_a_run_with_one_sentence_and_nothing_is_lost(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headscope.runs.execution.execute.SECONDS_BETWEEN_WRITES", 0.0)
    monkeypatch.setitem(
        on_step,
        "full",
        lambda number: monkeypatch.setattr(headscope.runs.data_dir, "LEAST_FREE", 2**60) if number == 3 else None,
    )
    kind = Counting("full", to=6)
    stopped = go(store, kind)
    assert stopped.state == STOPPED
    assert "MB left and a run needs" in stopped.message
    assert "make room and resume" in stopped.message
    kept = [point["number"] for point in store.points(stopped.id)]
    assert kept == [0, 1, 2]
    monkeypatch.setattr(headscope.runs.data_dir, "LEAST_FREE", 0)
    monkeypatch.delitem(on_step, "full")
    assert go(store, kind).result == {"numbers": [0, 1, 2, 3, 4, 5]}


def test_a_run_killed_after_a_batch_ends_with_the_scores_of_one_that_was_not(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headscope.tasks.vision.image_budget", lambda _: 3)
    kind = ImportanceRun("looker", n=10)
    whole = run_here(Store(tmp_path / "other"), kind)
    run = store.submit(kind.as_run(store.folder))
    claimed = store.claim_one(run.id, Identity.own())
    assert claimed is not None
    points = Store(tmp_path / "other").points(run.id)
    assert len(points) > 2
    store.advance(run.id, 3, 10, points[:1])
    store.end(run.id, STOPPED)
    again = run_here(store, kind)
    assert again.result == whole.result
    assert store.points(run.id) == points


def test_a_question_is_answered_between_two_steps_of_a_short_run(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    order: list[str] = []
    question = Counting("question", to=1, serve=QUERY)

    def step(number: int) -> None:
        order.append(f"step {number}")
        if number == 1:
            store.submit(question.as_run(store.folder))

    monkeypatch.setitem(on_step, "short", step)
    monkeypatch.setitem(on_step, "question", lambda _: order.append("answer"))
    short = Counting("short", to=4, serve=SHORT)
    store.submit(short.as_run(store.folder))
    Worker(store, "interactive").work_once()
    assert order == ["step 0", "step 1", "answer", "step 2", "step 3"]


def test_a_question_comes_to_its_end_however_many_follow_it(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    order: list[str] = []

    def ask(number: int) -> None:
        if number < 9:
            store.submit(Counting(f"asked {number}", to=1, serve=QUERY).as_run(store.folder))

    for number in range(9):  # the answer to each is followed by another question
        name = f"asked {number}"
        monkeypatch.setitem(on_step, name, lambda _, name=name: (order.append(name), ask(int(name[-1]) + 1)))
    monkeypatch.setitem(on_step, "first", lambda number: (order.append("first"), ask(0) if number == 0 else None))
    store.submit(Counting("first", to=3, serve=QUERY).as_run(store.folder))
    Worker(store, "interactive").work_once()
    assert order == ["first", "asked 0", "first", "asked 1", "first", "asked 2"]


def test_a_run_interrupted_in_the_shell_counts_as_cancelled(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(number: int) -> None:
        raise KeyboardInterrupt(number)

    monkeypatch.setitem(on_step, "a", interrupt)
    with pytest.raises(KeyboardInterrupt):
        run_here(store, Counting("a"))
    assert store.runs()[0].state == CANCELLED


def test_a_worker_killed_in_the_middle_costs_nothing_that_was_written(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headscope.runs.execution.execute.SECONDS_BETWEEN_WRITES", 0.0)
    monkeypatch.setattr("headscope.tasks.vision.image_budget", lambda _: 3)
    kind = EvaluationRun("looker", n=20)
    run = store.submit(kind.as_run(store.folder))
    advance = Store.advance

    def advance_and_die(self: Store, *given: Any) -> bool:
        answer = advance(self, *given)
        if len(store.points(run.id)) == 3:
            os.kill(os.getpid(), signal.SIGKILL)
        return answer

    def work() -> None:
        Store.advance = advance_and_die  # type: ignore[method-assign]  # in a process that ends here
        Worker(store, "interactive", seconds_idle=0.1).work()

    assert forked(work)[0] == KILLED
    kept = store.points(run.id)
    assert (len(kept), store.get(run.id).state) == (3, RUNNING)
    Worker(store, "interactive", seconds_idle=0.1).work()
    assert store.points(run.id)[:3] == kept
    assert len(store.points(run.id)) == 7
    assert store.get(run.id).result == run_here(Store(tmp_path / "other"), kind).result


def test_the_command_line_follows_a_run_that_another_process_has(store: Store) -> None:
    kind = Counting("followed")
    run = store.submit(kind.as_run(store.folder))
    store.claim_one(run.id, Identity(2**22 + 1, 1.0))
    watched: list[str] = []
    assert run_here(store, kind, lambda one: watched.append(one.state)).state == DONE
    assert store.get(run.id).state == DONE
    assert QUEUED not in watched
