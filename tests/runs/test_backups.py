"""Copies of the store: nothing finished is lost where the store itself is."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from headscope.runs.client import run_here
from headscope.runs.data_dir import BACKUP, OLDER
from headscope.runs.store import DAY, Store, n_runs_in
from tests.bad_input.mutations import check_sentence
from tests.runs.counting import Counting


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "home")


def lose(store: Store) -> None:
    for end in ("", "-wal", "-shm"):
        store.path.with_name(store.path.name + end).unlink(missing_ok=True)


@pytest.mark.parametrize("way", ["emptied", "gone", "emptied under an open app"])
def test_an_emptied_store_is_refused_while_its_backup_has_runs(way: str, store: Store) -> None:
    done = run_here(store, Counting("a", to=4))
    lose(store)
    if way != "gone":
        store.path.touch()
    opened = store.runs if "open" in way else lambda: Store(store.folder)
    for _ in range(2):
        with pytest.raises(OSError, match=r"put headscope\.backup\.sqlite in its place") as caught:
            opened()
        check_sentence(str(caught.value))
    with pytest.raises(OSError):
        store.submit(Counting("b").as_run(store.folder))
    with pytest.raises(OSError):
        Store(store.folder)
    (store.folder / f"headscope{BACKUP}").replace(store.path)
    assert Store(store.folder).get(done.id) == done


def test_a_new_store_begins_once_the_copies_are_moved_away(store: Store, tmp_path: Path) -> None:
    run_here(store, Counting("a"))
    lose(store)
    (store.folder / f"headscope{BACKUP}").replace(tmp_path / "elsewhere")
    assert Store(store.folder).runs() == []


def test_runs_that_are_lost_are_in_the_backup_from_before(store: Store) -> None:
    first, second = run_here(store, Counting("a")), run_here(store, Counting("b"))
    with store._transaction() as connection:
        connection.execute("DELETE FROM runs")
    store.back_up()
    backup, older = (store.folder / f"headscope{end}" for end in (BACKUP, OLDER))
    assert n_runs_in(backup) == 2, "nothing is not copied"
    for name in "cd":
        run_here(store, Counting(name))
    assert (n_runs_in(backup), n_runs_in(older)) == (2, 2)
    lose(store)
    backup.unlink()
    with pytest.raises(OSError, match=r"put headscope\.backup-before\.sqlite in its place"):
        Store(store.folder)
    older.replace(store.path)
    assert {run.id for run in Store(store.folder).runs()} == {first.id, second.id}


def test_a_backup_of_another_day_is_kept(store: Store) -> None:
    for name in "abc":
        run_here(store, Counting(name))
    backup, older = (store.folder / f"headscope{end}" for end in (BACKUP, OLDER))
    assert (n_runs_in(backup), n_runs_in(older)) == (3, 1)
    yesterday = time.time() - DAY - 1
    os.utime(backup, (yesterday, yesterday))
    run_here(store, Counting("d"))
    assert (n_runs_in(backup), n_runs_in(older)) == (4, 3)
