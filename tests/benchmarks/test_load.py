"""The promise about many sessions can be broken in every way that it names."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.load import MOST_GROWTH_MB, MeasurementCache, table
from benchmarks.load_session import MANY, Session
from headscope.runs.store import Store

SIZES = {"server": 300.0, "worker interactive-0": 900.0, "worker batch-0": 700.0}


@pytest.fixture
def session(tmp_path: Path) -> Session:
    """One that went round twice and met nothing."""
    return Session(7, "http://127.0.0.1", MANY, Store(tmp_path), rounds=2)


def measured(session: Session, **after: float) -> MeasurementCache:
    return MeasurementCache([session], {"before": SIZES, "most": SIZES, "after": SIZES | after}, seconds=300.0)


def test_sessions_that_went_round_and_memory_that_grew_as_much_as_allowed_keep_the_promise(session: Session) -> None:
    assert measured(session, server=SIZES["server"] + MOST_GROWTH_MB["server"]).faults == []


def test_a_session_that_finished_no_whole_round_breaks_it(session: Session) -> None:
    session.rounds = 0
    session.waited = {"head switched": [1.0]}
    assert measured(session).faults == ["session 7 finished no whole round"]


def test_an_error_and_something_of_another_session_break_it(session: Session) -> None:
    session.errors.append("session 7, edit: no answer")
    session.mixed.append("session 7: model 'reader' instead of 'translator'")
    assert measured(session).faults == [*session.errors, *session.mixed]


@pytest.mark.parametrize("name", SIZES)
def test_memory_that_grew_by_more_than_allowed_breaks_it(session: Session, name: str) -> None:
    most = MOST_GROWTH_MB[name.partition(" ")[0]]
    (fault,) = measured(session, **{name: SIZES[name] + most + 1}).faults
    assert fault == f"{name}: {most + 1:.0f} MB more than before, {most:.0f} are allowed"


def test_the_table_tells_what_every_session_waited_for_and_how_often_it_went_round(session: Session) -> None:
    session.waited = {"head switched": [1.0, 3.0, 2.0]}
    rows = table(measured(session)).splitlines()
    assert "| rounds of a session: least, median, most | 2, 2, 2 |" in rows
    assert "| head switched: times, median, slowest | 3, 2.0 s, 3.0 s |" in rows
