from __future__ import annotations

import os
from pathlib import Path

import pytest

from headscope.runs.client import submit
from headscope.runs.kinds.sweep import SweepRun
from headscope.runs.policy.uploads import forget, keep, path_of
from headscope.runs.store import Store


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HEADSCOPE_HOME", str(tmp_path))
    return tmp_path


def test_a_kept_file_is_found_by_its_mark_and_the_same_content_has_the_same_mark() -> None:
    mark = keep("my rows.csv", b"text\nhello")
    assert Path(path_of(mark)).read_bytes() == b"text\nhello"
    assert Path(path_of(mark)).name == "my_rows.csv"
    assert keep("other.csv", b"text\nhello") == mark
    assert keep("my rows.csv", b"text\nbye") != mark


@pytest.mark.parametrize("name", ["../../evil.csv", "..\\..\\evil.csv", "/etc/cron.d/evil.csv", "a\0b.csv", ".csv.csv"])
def test_no_name_leads_out_of_the_folder(name: str, own_home: Path) -> None:
    path = Path(path_of(keep(name, b"text\nhello")))
    assert path.resolve().is_relative_to((own_home / "uploads").resolve())
    assert path.suffix == ".csv"


def test_a_file_of_another_kind_is_refused_whatever_the_browser_said() -> None:
    with pytest.raises(ValueError, match=r"weights.bin ends in '.bin'; known are .csv"):
        keep("weights.bin", b"x")


def test_a_mark_without_a_file_is_one_sentence_and_a_path_stays_a_path() -> None:
    with pytest.raises(ValueError, match="no uploaded file 0123456789abcdef on this machine; upload it again"):
        path_of("0123456789abcdef")
    assert path_of("/some/rows.csv") == "/some/rows.csv"


def test_old_files_that_no_run_names_are_forgotten(own_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headscope.runs.client.supervise", lambda _: None)
    old, used, young = (keep("rows.csv", content) for content in (b"text\nold", b"text\nused", b"text\nyoung"))
    for mark in (old, used):
        os.utime(path_of(mark), (0, 0))
    store = Store(own_home)
    submit(store, SweepRun("reader", data=path_of(used)))
    (own_home / "uploads" / "notes").mkdir()  # nothing of ours
    assert forget(store, 3600) == 1
    assert Path(path_of(used)).is_file() and Path(path_of(young)).is_file()
    assert (own_home / "uploads" / "notes").is_dir()
    with pytest.raises(ValueError, match="upload it again"):
        path_of(old)
