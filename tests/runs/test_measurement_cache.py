from __future__ import annotations

import sqlite3
import threading
from contextlib import closing
from pathlib import Path

import psutil
import pytest

from headscope.runs.measurement_cache import EDITION, FILE, MeasurementCache


def test_what_was_put_is_there_for_everybody_who_asks_about_the_same(tmp_path: Path) -> None:
    measured = MeasurementCache(tmp_path, "model", "task", {"b": 1, "a": 2})
    measured["encoder.0.1"] = {"value": 0.1 + 0.2, "p": None}
    measured[""] = {"value": float("inf")}
    again = MeasurementCache(tmp_path, "model", "task", {"a": 2, "b": 1})
    assert dict(again) == {"": {"value": float("inf")}, "encoder.0.1": {"value": 0.30000000000000004, "p": None}}
    assert (len(again), "encoder.0.1" in again, "encoder.0.2" in again) == (2, True, False)


def test_a_failure_that_is_still_looked_at_holds_no_file_open(tmp_path: Path) -> None:
    measured = MeasurementCache(tmp_path, "model")
    measured[""] = {"value": 1}
    with closing(sqlite3.connect(tmp_path / FILE)) as connection:
        connection.execute("DROP TABLE measured")
    with pytest.raises(OSError, match="no such table") as failure:
        measured[""]
    assert failure.traceback
    assert not [file.path for file in psutil.Process().open_files() if Path(file.path).is_relative_to(tmp_path)]


def test_other_models_and_tasks_are_kept_apart(tmp_path: Path) -> None:
    MeasurementCache(tmp_path, "model", "task")["encoder.0.1"] = {"value": 1}
    for about in (("model", "other"), ("other", "task"), ("model",), ("model", "task", None)):
        assert not MeasurementCache(tmp_path, *about)


def test_an_older_edition_is_not_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    MeasurementCache(tmp_path, "model")["encoder.0.1"] = {"value": 1}
    monkeypatch.setattr("headscope.runs.measurement_cache.EDITION", EDITION + 1)
    assert not MeasurementCache(tmp_path, "model")


def test_a_record_can_be_written_anew_and_forgotten(tmp_path: Path) -> None:
    measured = MeasurementCache(tmp_path, "model")
    measured["encoder.0.1"] = {"value": 1}
    measured["encoder.0.1"] = {"value": 2}
    assert measured["encoder.0.1"] == {"value": 2}
    del measured["encoder.0.1"]
    assert measured.get("encoder.0.1") is None
    with pytest.raises(KeyError, match=r"nothing was measured without encoder\.0\.1"):
        measured["encoder.0.1"]
    with pytest.raises(KeyError, match="nothing was measured without no head"):
        del measured[""]


def test_several_records_are_written_together_or_not_at_all(tmp_path: Path) -> None:
    measured = MeasurementCache(tmp_path, "model")
    with pytest.raises(TypeError):
        measured.update({"encoder.0.1": {"value": 1}, "encoder.0.2": {"value": object()}})
    assert not measured
    measured.update({"encoder.0.1": {"value": 1}, "encoder.0.2": {"value": 2}})
    assert len(measured) == 2


@pytest.mark.parametrize("garbage", [b"\xff", "{", '{"value": 2} 00000000'])
def test_what_was_measured_and_cannot_be_read_is_measured_anew(tmp_path: Path, garbage: object) -> None:
    measured = MeasurementCache(tmp_path, "model")
    measured.update({"encoder.0.1": {"value": 1}, "encoder.0.2": {"value": 2}})
    with measured._connected() as connection:
        connection.execute("UPDATE measured SET record = ? WHERE mask = 'encoder.0.1'", (garbage,))
    assert measured.get("encoder.0.1") is None
    assert measured["encoder.0.2"] == {"value": 2}


def test_many_write_at_once(tmp_path: Path) -> None:
    def write(number: int) -> None:
        for head in range(10):
            MeasurementCache(tmp_path, "model")[f"encoder.{number}.{head}"] = {"value": head}

    threads = [threading.Thread(target=write, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(MeasurementCache(tmp_path, "model")) == 40


def test_a_damaged_file_is_named_with_what_to_do_which_is_not_a_copy_that_nobody_makes(tmp_path: Path) -> None:
    (tmp_path / FILE).write_bytes(b"not a database, but long enough to be read as one" * 100)
    with pytest.raises(OSError, match=r"is damaged: .*; stop the app and delete it") as caught:
        MeasurementCache(tmp_path, "model")
    assert "backup" not in str(caught.value)
