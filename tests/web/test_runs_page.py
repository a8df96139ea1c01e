"""What the Runs page does by itself: nothing while there is nothing new."""

from __future__ import annotations

import runpy
from collections.abc import Iterator
from pathlib import Path

import pytest
from streamlit.delta_generator import DeltaGenerator
from streamlit.testing.v1 import AppTest

from headscope.runs.client import run_here, submit
from headscope.runs.run import Run
from headscope.runs.store import Store
from headscope.web.runs import polling, requests
from headscope.web.runs.run_facts import glance, setting_name
from tests.runs.counting import Counting
from tests.web.reading import read

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("HEADSCOPE_HOME", str(tmp_path))
    monkeypatch.setattr("headscope.runs.client.supervise", lambda _: None)
    monkeypatch.setattr("headscope.web.page.shell.supervise", lambda _: None)
    requests.store_of.clear()
    polling._presence.clear()
    yield tmp_path
    requests.store_of.clear()
    polling._presence.clear()


def opened() -> AppTest:
    return AppTest.from_file(str(ROOT / "app.py"), default_timeout=60).run().switch_page("pages/runs.py")


def test_the_table_is_drawn_again_by_itself_only_while_the_run_beside_it_is_under_way(intervals: list[float]) -> None:
    run_here(Store(), Counting("looker"))
    app = opened()
    intervals.clear()
    assert not app.run().exception
    assert sorted(intervals) == [1.5, 2.0]  # whether anything is new, and the side bar
    waiting = submit(Store(), Counting("reader"))
    app.query_params["run"] = waiting.id
    intervals.clear()
    assert not app.run().exception
    assert sorted(intervals) == [2.0, 2.0]


def test_a_broken_run_stands_in_the_table_and_is_deleted_there() -> None:
    broken, _ = (run_here(Store(), Counting(name)) for name in ("looker", "reader"))
    with Store()._transaction() as connection:
        connection.execute("UPDATE runs SET result = ?, kind = ? WHERE id = ?", (b"\xff", b"\xfe", broken.id))
    app = opened()
    app.query_params["run"] = broken.id
    app.run()
    assert not app.exception and not app.error
    assert "cannot be read" in read(app.info[0].value)
    app.button(key="delete").click().run()
    assert not app.exception and not app.error
    assert len(Store().runs()) == 1


def test_results_are_read_once_however_often_the_table_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    runs = [run_here(Store(), Counting(name)) for name in ("looker", "reader", "writer")]
    app = opened().run()
    read: list[str] = []
    get = Store.get
    monkeypatch.setattr(Store, "get", lambda self, run_id: read.append(run_id) or get(self, run_id))
    for _ in range(2):
        assert not app.run().exception
    assert not {one.id for one in runs[:-1]} & set(read)  # the newest stands beside the table


def test_what_the_table_shows_is_other_once_a_run_has_come_or_ended_or_got_another_name() -> None:
    store = Store()
    seen = [glance(store)]
    run = submit(store, Counting("looker"))
    seen.append(glance(store))
    store.rename(run.id, "Mine")
    seen.append(glance(store))
    store.cancel(run.id)
    seen.append(glance(store))
    assert len(set(seen)) == len(seen)
    assert glance(store) == seen[-1]


def test_a_report_is_the_same_bytes_and_no_copy_of_them_each_time_the_page_runs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run_here(Store(), Counting("looker"))
    given: list[object] = []
    monkeypatch.setattr(DeltaGenerator, "download_button", lambda *_, data, **__: given.append(data))
    app = opened()
    given.clear()
    for _ in range(2):
        assert not app.run().exception
    report, tables, again, tables_again = given
    assert isinstance(report, bytes) and len(report) > 2**20
    assert report is again
    assert tables is tables_again


def test_a_session_keeps_no_runs_once_the_page_is_drawn() -> None:
    run_here(Store(), Counting("looker"))
    named = runpy.run_path(str(ROOT / "pages" / "runs.py"))  # what a session keeps, by way of its parts
    values = [one for value in named.values() for one in (value if isinstance(value, list) else [value])]
    assert "show_page" in named
    assert [one for one in values if isinstance(one, Run)] == []


def test_settings_of_a_run_are_told_in_words() -> None:
    names = [setting_name(name) for name in ("n", "n_scoring", "n_steps", "at_least", "model")]
    assert names == ["Examples", "Examples for scores", "Steps", "At least", "Model"]
