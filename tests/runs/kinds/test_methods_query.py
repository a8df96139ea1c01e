"""The list of importance methods while their files change."""

from __future__ import annotations

from pathlib import Path

import pytest

from headscope.runs.client import run_here
from headscope.runs.execution.worker import Worker
from headscope.runs.kinds import methods
from headscope.runs.kinds.methods import MethodsQuery, code_mark, is_outdated
from headscope.runs.run import FAILED, QUERY, QUEUED, SHORT
from headscope.runs.store import Store
from tests.runs.counting import Counting, on_step


def test_a_process_is_outdated_once_a_file_of_the_folder_is_new_or_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(methods, "FOLDER", tmp_path)
    monkeypatch.setattr(methods, "STARTED", code_mark())
    assert not is_outdated()
    (tmp_path / "notes.txt").write_text("no method")
    assert not is_outdated()
    (tmp_path / "relative.py").write_text("one = 1")
    assert is_outdated()


def test_no_list_is_kept_under_the_mark_of_files_that_the_process_has_not_read(tmp_path: Path) -> None:
    store = Store(tmp_path)
    asked = run_here(store, MethodsQuery("", "newer"))
    assert (asked.state, asked.result) == (FAILED, None)
    assert asked.message == "the files of the importance methods have just changed; ask again in a moment"
    assert run_here(store, MethodsQuery("", code_mark())).result["methods"]


def test_a_worker_with_old_methods_takes_up_no_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Store(tmp_path)
    run = store.submit(Counting("a").as_run(tmp_path))
    monkeypatch.setattr("headscope.runs.execution.worker.is_outdated", lambda: True)
    Worker(store, "batch").work()
    assert store.get(run.id).state == QUEUED


def test_a_question_waits_for_the_short_run_of_a_worker_with_old_methods(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Store(tmp_path)
    question = Counting("question", to=1, serve=QUERY)
    short = store.submit(Counting("short", to=3, serve=SHORT).as_run(tmp_path))
    monkeypatch.setitem(on_step, "short", lambda number: number or store.submit(question.as_run(tmp_path)))
    monkeypatch.setattr("headscope.runs.execution.worker.is_outdated", lambda: True)
    Worker(store, "interactive").work_once()
    assert store.get(short.id).ended
    assert store.get(question.as_run(tmp_path).id).state == QUEUED
