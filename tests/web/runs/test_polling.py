from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest

from headscope.web.runs import polling
from headscope.web.runs.polling import EASY, SECONDS_HERE, Presence, stretched

PART = "from headscope.web.runs.polling import poll_every\n@poll_every(2.0)\ndef part() -> None: ...\npart()"


def test_few_sessions_look_as_often_as_one_alone() -> None:
    assert {stretched(1.5, n) for n in range(1, EASY + 1)} == {1.5}


@pytest.mark.parametrize("n", [EASY, 2 * EASY, 7 * EASY])
def test_however_many_sessions_there_are_the_server_is_looked_at_equally_often(n: int) -> None:
    assert n / stretched(1.5, n) == pytest.approx(EASY / 1.5)


def test_a_session_is_counted_once_however_often_it_looks() -> None:
    presence = Presence()
    assert [presence.hear("a", 0.0), presence.hear("b", 1.0), presence.hear("a", 2.0)] == [1, 2, 2]


def test_a_session_that_has_not_looked_for_a_minute_is_forgotten() -> None:
    presence = Presence()
    presence.hear("a", 0.0)
    assert presence.hear("b", SECONDS_HERE) == 2
    assert presence.hear("b", SECONDS_HERE + 1) == 1
    assert set(presence.heard) == {"b"}


def test_a_part_of_a_page_looks_less_often_where_many_pages_are_open(intervals: list[float]) -> None:
    polling._presence.clear()
    for _ in range(2 * EASY):
        assert not AppTest.from_string(PART).run().exception
    polling._presence.clear()
    assert intervals[:EASY] == [2.0] * EASY
    assert intervals[EASY:] == sorted(intervals[EASY:])
    assert intervals[-1] == 4.0
