"""Full disks, damaged files, locked stores, clocks that go back: nothing finished is lost, and one sentence says it."""

from __future__ import annotations

import errno
import os
import shutil
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest
import torch

import headscope.runs.data_dir
from headscope.analysis.attention.npz import read_npz
from headscope.pruning.training.fine_tuning import kept_state, save_state
from headscope.runs.client import run_here
from headscope.runs.data_dir import BACKUP, write_whole
from headscope.runs.execution import workers
from headscope.runs.execution.execute import execute
from headscope.runs.execution.model_cache import ModelCache
from headscope.runs.execution.process import Identity
from headscope.runs.execution.worker import Worker
from headscope.runs.kinds import learn
from headscope.runs.kinds.attention import AttentionQuery
from headscope.runs.kinds.evaluation import EvaluationRun
from headscope.runs.kinds.learn import LearnRun
from headscope.runs.kinds.sweep import SweepRun
from headscope.runs.policy import uploads
from headscope.runs.run import CANCELLED, DONE, FAILED, QUEUED, RUNNING, STOPPED, Cancelled, Run
from headscope.runs.store import Store
from tests.bad_input.mutations import check_sentence
from tests.runs.counting import Counting, on_step

FULL = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "somewhere")
SWEEP = SweepRun("looker", step=0.5, n=10, n_scoring=4)
GATES = LearnRun(
    "looker",
    gates="dsp",
    settings={"keep": 9},
    n_steps=4,
    finetune=3,
    n=10,
    training={"n_judged": 10, "batch": 4, "every": 2},
)
SHELF = ModelCache()


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    monkeypatch.setenv("HEADSCOPE_HOME", str(tmp_path / "home"))
    monkeypatch.setattr("headscope.runs.execution.execute.SECONDS_BETWEEN_WRITES", 0.0)
    return Store(tmp_path / "home")


Undisturbed = Callable[[Any], tuple[Run, list[dict[str, Any]]]]


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Undisturbed:
    """A run of a kind that nothing happened to, and its points; each is made once."""
    store = Store(tmp_path_factory.mktemp("undisturbed"))

    def ended(kind: Any) -> tuple[Run, list[dict[str, Any]]]:
        run = run_here(store, kind)
        return run, store.points(run.id)

    return ended


def go(store: Store, kind: Any) -> Run:
    """The run after it was taken up once by this process."""
    run = store.submit(kind.as_run(store.folder), kind.kept)
    store.resume(run.id)
    claimed = store.claim_one(run.id, Identity.own())
    assert claimed is not None
    execute(store, claimed, SHELF)
    return store.get(run.id)


# a full disk


def write_nothing(*_: Any, **__: Any) -> None:
    raise FULL


@pytest.mark.parametrize(
    ("site", "kind"),
    [
        ("pathlib.Path.mkdir", SWEEP),
        ("headscope.runs.measurement_cache.MeasurementCache.update", SWEEP),
        ("torch.save", GATES),
        ("headscope.pruning.export.exporter.save_pruned", GATES),
        ("pathlib.Path.write_bytes", AttentionQuery("looker", image=3)),
        ("headscope.runs.store.Store.note", SWEEP),
        ("headscope.runs.store.Store.advance", SWEEP),
    ],
)
def test_a_disk_that_is_full_at_any_write_stops_the_run_which_then_goes_on_to_the_same_end(
    site: str, kind: Any, store: Store, undisturbed: Undisturbed
) -> None:
    expected, points = undisturbed(kind)
    with pytest.MonkeyPatch.context() as patch:
        if site == "pathlib.Path.mkdir":
            store.submit(kind.as_run(store.folder), kind.kept)
        patch.setattr(site, write_nothing)
        stopped = go(store, kind)
    assert (stopped.state, stopped.result) == (STOPPED, None)
    assert stopped.message == "the disk is full; what was computed is kept: make room and resume the run"
    resumed = go(store, kind)
    assert (resumed.state, resumed.result) == (DONE, expected.result), resumed.message
    assert store.points(resumed.id) == points


def test_a_full_database_stops_the_run_and_keeps_its_points(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    connect = sqlite3.connect

    def tight(*given: Any, **named: Any) -> sqlite3.Connection:
        connection = connect(*given, **named)
        (pages,) = connection.execute("PRAGMA page_count").fetchone()
        connection.execute(f"PRAGMA max_page_count = {pages}")
        return connection

    kind = Counting("x" * 3000, to=400)

    def fill(number: int) -> None:
        if number == 30:
            monkeypatch.setattr(sqlite3, "connect", tight)

    def room(*_: Any) -> None:
        monkeypatch.setattr(sqlite3, "connect", connect)

    end = Store.end
    monkeypatch.setattr(Store, "end", lambda *given, **named: room() or end(*given, **named))
    monkeypatch.setitem(on_step, kind.model, fill)
    stopped = go(store, kind)
    assert stopped.state == STOPPED
    assert "is full; what was computed is kept: make room and resume the run" in stopped.message
    check_sentence(stopped.message)
    kept = [point["number"] for point in store.points(stopped.id)]
    assert kept == list(range(len(kept)))
    assert len(kept) >= 30
    assert go(store, kind).result == {"numbers": list(range(400))}


def test_a_checkpoint_on_a_full_disk_is_told_as_that_and_the_old_one_stays(tmp_path: Path) -> None:
    path = tmp_path / "checkpoint.pt"
    save_state({"step": torch.tensor(1)}, path)
    (tmp_path / "checkpoint.partial").symlink_to("/dev/full")
    with pytest.raises(OSError) as caught:
        save_state({"step": torch.zeros(10**6)}, path)
    assert caught.value.errno == errno.ENOSPC
    kept = kept_state(path, lambda _: None)
    assert kept is not None
    assert kept["step"] == 1


def test_an_upload_on_a_full_disk_leaves_no_half_of_it(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("pathlib.Path.replace", write_nothing)
        with pytest.raises(OSError, match="No space left"):
            uploads.keep("rows.csv", b"text\nhello")
    assert [path for path in store.folder.rglob("*") if path.is_file() and "uploads" in path.parts] == []
    mark = uploads.keep("rows.csv", b"text\nhello")
    (Path(uploads.path_of(mark)).parent / ".rows.csv.half").write_bytes(b"te")  # of a process that was killed
    assert Path(uploads.path_of(mark)).read_bytes() == b"text\nhello"


def test_no_worker_is_started_on_a_full_disk_where_nobody_could_note_it_down(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[str] = []
    monkeypatch.setattr(workers, "_start", lambda _, place: started.append(place) or Identity.own())
    monkeypatch.setattr(headscope.runs.data_dir, "LEAST_FREE", 2**62)
    with pytest.raises(OSError, match="make room and resume the run"):
        workers.ensure_workers(store, ["interactive"])
    assert started == []
    monkeypatch.setattr(headscope.runs.data_dir, "LEAST_FREE", 0)
    for _ in range(3):
        workers.ensure_workers(store, ["interactive"])
    assert started == ["interactive-0"]


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "workers.json"
    write_whole(path, b"before")
    monkeypatch.setattr("pathlib.Path.replace", write_nothing)
    with pytest.raises(OSError):
        write_whole(path, b"after")
    assert path.read_bytes() == b"before"
    assert [one.name for one in tmp_path.iterdir()] == ["workers.json"]


# damage


def test_a_damaged_store_says_so_and_its_backup_has_all_that_was_finished(store: Store) -> None:
    kind, later = Counting("a", to=4), Counting("b", to=3)
    done, points = go(store, kind), store.points(kind.as_run(store.folder).id)
    assert done.state == DONE
    store.submit(later.as_run(store.folder))
    for name in ("headscope.sqlite-wal", "headscope.sqlite-shm"):
        (store.folder / name).unlink(missing_ok=True)
    store.path.write_bytes(b"not a database" * 1000)
    for look in (lambda: Store(store.folder), store.runs, lambda: store.get(done.id), lambda: store.advance("a", 1, 2)):
        with pytest.raises(
            OSError, match=r"headscope\.sqlite is damaged: .*put headscope\.backup\.sqlite in its place"
        ):
            look()
    (store.folder / f"headscope{BACKUP}").replace(store.path)
    assert Store(store.folder).get(done.id) == done
    assert Store(store.folder).points(done.id) == points


def test_a_backup_is_never_made_of_a_damaged_store(store: Store) -> None:
    done = go(store, Counting("a", to=4))
    backup = store.folder / f"headscope{BACKUP}"
    before = backup.read_bytes()
    with closing(sqlite3.connect(store.path)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    content = bytearray(store.path.read_bytes())
    content[5000:] = b"\x5a" * (len(content) - 5000)
    store.path.write_bytes(content)
    try:
        store.back_up()
    except OSError as error:
        check_sentence(str(error))
    assert backup.read_bytes() == before
    backup.replace(store.path)
    assert Store(store.folder).get(done.id).result == done.result
    assert [path.name for path in store.folder.iterdir() if path.name.startswith(".backup")] == []


@pytest.mark.parametrize("damage", ["gone", "garbage", "cut", "folder"])
def test_a_damaged_checkpoint_costs_the_training_and_not_the_run(
    damage: str, store: Store, undisturbed: Undisturbed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(learn, "SECONDS_BETWEEN_CHECKPOINTS", 0.0)
    expected, points = undisturbed(GATES)
    told: list[str] = []
    say = Store.say
    monkeypatch.setattr(Store, "say", lambda self, run, text: told.append(text) or say(self, run, text))
    with monkeypatch.context() as patch:
        patch.setattr("headscope.pruning.export.exporter.save_pruned", write_nothing)
        stopped = go(store, GATES)
    checkpoint = stopped.folder / learn.CHECKPOINT
    content = checkpoint.read_bytes()
    checkpoint.unlink()
    if damage == "folder":
        shutil.rmtree(stopped.folder)
    elif damage != "gone":
        checkpoint.write_bytes(b"garbage" if damage == "garbage" else content[: len(content) // 2])
    resumed = go(store, GATES)
    assert (resumed.state, resumed.result) == (DONE, expected.result), resumed.message
    assert store.points(resumed.id) == points
    assert ("its checkpoint is broken, so the training begins again" in told) == (damage in ("garbage", "cut"))


def test_an_answer_whose_file_is_gone_is_known_to_be_lost(store: Store) -> None:
    run = go(store, AttentionQuery("looker", image=3))
    assert run.lost_file == ""
    shutil.rmtree(run.folder)
    assert run.lost_file == "seen.npz"
    assert go_again(store, AttentionQuery("looker", image=3)).lost_file == ""


@pytest.mark.parametrize("damage", [b"", b"garbage", None], ids=["empty", "garbage", "cut"])
def test_an_answer_whose_file_is_broken_is_told_with_the_name_of_the_file(damage: bytes | None, store: Store) -> None:
    run = go(store, AttentionQuery("looker", image=3))
    path = run.folder / run.result["file"]
    assert read_npz(path).banks
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2] if damage is None else damage)
    with pytest.raises(ValueError) as caught:
        read_npz(path)
    check_sentence(str(caught.value))
    assert str(caught.value).startswith(f"the file seen.npz of run {run.id} is broken: ")


def go_again(store: Store, kind: Any) -> Run:
    store.delete(kind.as_run(store.folder).id)
    return go(store, kind)


# a locked store


@contextmanager
def locked(path: Path) -> Iterator[None]:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("BEGIN EXCLUSIVE")
        yield
        connection.execute("ROLLBACK")


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A store that waits for a lock no longer than a moment."""
    connect = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", lambda path, **named: connect(path, **named | {"timeout": 0.05}))


@pytest.mark.usefixtures("impatient")
def test_a_locked_store_is_one_sentence_and_reading_goes_on(store: Store) -> None:
    run = go(store, Counting("a"))
    with locked(store.path):
        assert store.get(run.id) == run
        for write in (lambda: store.submit(Counting("b").as_run(store.folder)), lambda: store.rename(run.id, "x")):
            with pytest.raises(
                OSError, match=r"headscope\.sqlite is locked by another program; what was computed is kept"
            ):
                write()
    assert go(store, Counting("b")).state == DONE


@pytest.mark.usefixtures("impatient")
def test_a_run_that_finds_the_store_locked_stops_and_goes_on_later(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    kind = Counting("a", to=6)
    locks: list[Any] = []

    def lock(number: int) -> None:
        if number == 3:
            locks.append(locked(store.path))
            locks[0].__enter__()

    end = Store.end
    monkeypatch.setattr(
        Store, "end", lambda *given, **named: locks.pop().__exit__(None, None, None) or end(*given, **named)
    )
    monkeypatch.setitem(on_step, "a", lock)
    stopped = go(store, kind)
    assert stopped.state == STOPPED
    assert "is locked by another program; what was computed is kept" in stopped.message
    monkeypatch.setattr(Store, "end", end)
    monkeypatch.delitem(on_step, "a")
    assert go(store, kind).result == {"numbers": [0, 1, 2, 3, 4, 5]}


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("at", [3, 5], ids=["under way", "at the last step"])
def test_a_worker_survives_a_store_that_stays_locked_and_writes_the_end_when_it_can(
    at: int, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headscope.runs.execution.execute.SECONDS_BETWEEN_TRIES", 0.01)
    worker = Worker(store, "batch")
    run = store.submit(Counting("a", to=6).as_run(store.folder))
    lock, tries, end = locked(store.path), [], Store.end

    def late(*given: Any, **named: Any) -> None:
        tries.append(given[2])
        if len(tries) == 4:
            assert not worker.work_once(), "nothing can be claimed, and nothing is raised"
            lock.__exit__(None, None, None)
        end(*given, **named)

    monkeypatch.setattr(Store, "end", late)
    monkeypatch.setitem(on_step, "a", lambda number: lock.__enter__() if number == at else None)
    assert worker.work_once()
    assert tries == [STOPPED] * 4
    assert store.get(run.id).state == STOPPED
    assert "is locked by another program; what was computed is kept" in store.get(run.id).message
    monkeypatch.setattr(Store, "end", end)
    monkeypatch.delitem(on_step, "a")
    store.resume(run.id)
    assert worker.work_once()
    assert store.get(run.id).result == {"numbers": [0, 1, 2, 3, 4, 5]}


def test_an_end_that_can_never_be_written_ends_the_worker_and_the_next_takes_the_run_up(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headscope.runs.execution.execute.SECONDS_BETWEEN_TRIES", 0.0)
    run = store.submit(Counting("a").as_run(store.folder))
    with monkeypatch.context() as patch:
        patch.setattr(Store, "end", write_nothing)
        with pytest.raises(OSError):
            Worker(store, "batch").work_once()
    monkeypatch.setattr(Identity, "alive", False)
    assert store.recover() == 1
    assert Worker(store, "batch").work_once()
    assert store.get(run.id).state == DONE


def test_a_run_that_is_cancelled_while_it_waits_for_others_is_cancelled(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = store.submit(Counting("a").as_run(store.folder))

    def wait(_: int) -> None:
        assert store.is_wanted(run.id)
        store.cancel(run.id)
        assert not store.is_wanted(run.id)
        raise Cancelled

    monkeypatch.setitem(on_step, "a", wait)
    assert Worker(store, "batch").work_once()
    assert store.get(run.id).state == CANCELLED


# clocks


def test_a_clock_set_back_makes_no_living_worker_dead_and_no_time_negative(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = store.submit(Counting("a").as_run(store.folder))
    claimed = store.claim_one(run.id, Identity.own())
    assert claimed is not None
    day, now, created = 86_400.0, time.time, psutil.Process.create_time
    monkeypatch.setattr(time, "time", lambda: now() - day)
    monkeypatch.setattr(psutil.Process, "create_time", lambda self: created(self) - day)
    assert Identity.parse(str(Identity.own())).alive
    assert store.recover() == 0
    assert store.get(run.id).state == RUNNING
    store.advance(run.id, 1, 5, [{"number": 0}])
    assert store.get(run.id).seconds(time.time()) == 0
    store.end(run.id, DONE, result={})
    ended = store.get(run.id)
    assert ended.seconds(time.time()) == 0
    assert store.prune(3600) == 0
    assert go(store, Counting("b")).state == DONE


def test_a_clock_set_forward_starts_nothing_twice_and_forgets_no_history(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = go(store, Counting("a"))
    waiting = store.submit(Counting("b").as_run(store.folder))
    now = time.time
    monkeypatch.setattr(time, "time", lambda: now() + 10 * 365 * 86_400)
    assert store.prune(3600, kept=False) == 0
    assert {run.id for run in store.runs()} == {done.id, waiting.id}
    assert store.recover() == 0
    assert store.get(waiting.id).state == QUEUED


def test_a_process_of_before_a_restart_of_the_machine_is_dead_whatever_its_number() -> None:
    own = Identity.own()
    assert own.alive
    if own.boot:
        assert not Identity(own.pid, own.started, "another").alive
    assert Identity.parse(str(own)) == own
    assert Identity.parse("12 3.5") == Identity(12, 3.5)


# a killed server


@pytest.mark.timeout(300)
def test_a_worker_outlives_the_server_that_started_it_and_finishes(store: Store) -> None:
    kind = EvaluationRun("looker", n=20)
    run = store.submit(kind.as_run(store.folder))
    serve = "import sys, time; from pathlib import Path; from headscope.runs.store import Store; "
    serve += "from headscope.runs.execution.workers import supervise; "
    serve += "supervise(Store(Path(sys.argv[1]))); print('started', flush=True); time.sleep(600)"
    server = subprocess.Popen([sys.executable, "-c", serve, str(store.folder)], stdout=subprocess.PIPE)
    try:
        assert server.stdout is not None
        assert server.stdout.readline() == b"started\n"
        server.stdout.close()
        server.kill()
        server.wait()
        until = time.monotonic() + 240
        while not store.get(run.id).ended and time.monotonic() < until:
            time.sleep(0.1)
        assert store.get(run.id).state == DONE, store.get(run.id).message
    finally:
        for identity in workers.running_workers(store).values():
            psutil.Process(identity.pid).kill()


def test_a_run_that_fails_for_any_other_reason_of_the_disk_names_it(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any) -> None:
        raise PermissionError(errno.EACCES, "Permission denied", "/some/\nplace")

    monkeypatch.setitem(on_step, "a", refuse)
    failed = go(store, Counting("a"))
    assert failed.state == FAILED
    check_sentence(failed.message)
    assert failed.message.startswith("Permission denied: /some/")
