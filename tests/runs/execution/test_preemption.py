from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from headscope.runs.execution.execute import execute
from headscope.runs.execution.model_cache import ModelCache
from headscope.runs.execution.preemption import YOUNG
from headscope.runs.execution.process import Identity
from headscope.runs.run import CANCELLED, DONE, LONG, QUERY, Run
from headscope.runs.store import Store
from tests.runs.counting import Counting, on_step

MODEL = "giving way"
SOON = 0.3


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    monkeypatch.setattr("headscope.runs.execution.preemption.SECONDS_BETWEEN_POLLS", 0.0)
    return Store(tmp_path)


def executed(store: Store, lane: str = LONG) -> Run:
    run = store.submit(Counting(MODEL, to=4, serve=lane).as_run(store.folder))
    claimed = store.claim_one(run.id, Identity.own())
    assert claimed is not None
    execute(store, claimed, ModelCache())
    return store.get(run.id)


def asked(store: Store) -> str:
    return store.submit(Counting("asked", serve=QUERY).as_run(store.folder)).id


def at_step_one(monkeypatch: pytest.MonkeyPatch, then: Callable[[], object]) -> list[int]:
    steps: list[int] = []

    def step(number: int) -> None:
        steps.append(number)
        if number == 1:
            then()

    monkeypatch.setitem(on_step, MODEL, step)
    return steps


def test_a_long_run_stands_still_while_a_question_waits_and_then_goes_on(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended: list[float] = []

    def answer(question: str) -> None:
        store.claim((QUERY,), Identity.own())
        ended.append(time.monotonic())
        store.end(question, DONE)

    at_step_one(monkeypatch, lambda: threading.Timer(SOON, answer, [asked(store)]).start())
    times: list[float] = []
    advance = store.advance
    monkeypatch.setattr("headscope.runs.execution.execute.SECONDS_BETWEEN_WRITES", 0.0)
    monkeypatch.setattr(store, "advance", lambda *given: times.append(time.monotonic()) or advance(*given))
    run = executed(store)
    assert (run.state, run.result) == (DONE, {"numbers": [0, 1, 2, 3]})
    assert times[1] < ended[0] < times[2], "the second step was under way, the third had to wait"


def test_a_question_does_not_stand_still_for_another(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "headscope.runs.execution.preemption.Preemption._stand_still", lambda _: pytest.fail("it stands still")
    )
    asked(store)
    assert executed(store, QUERY).state == DONE


def test_a_question_that_is_old_is_not_waited_for(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    question = asked(store)
    assert store.is_asked(60)
    monkeypatch.setattr("headscope.runs.execution.preemption.YOUNG", 0.0)
    assert executed(store).state == DONE
    assert not store.get(question).ended


def test_a_run_that_stood_still_for_long_works_again_though_questions_come(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headscope.runs.execution.preemption.LONGEST_STILL", 0.1)
    asked(store)
    assert executed(store).state == DONE
    assert store.is_asked(YOUNG), "the question is still one that is waited for"


def test_a_run_can_be_cancelled_while_it_stands_still(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    run_id = Counting(MODEL, to=4, serve=LONG).as_run(store.folder).id

    def ask_and_cancel() -> None:
        asked(store)
        threading.Timer(SOON, store.cancel, [run_id]).start()

    steps = at_step_one(monkeypatch, ask_and_cancel)
    assert executed(store).state == CANCELLED
    assert steps == [0, 1]
    assert [point["number"] for point in store.points(run_id)] == [0, 1], "what was found before is kept"
