"""Whose runs are whose: nobody sees, changes or opens what somebody else asked for."""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest

from headscope.runs.client import run_here, submit
from headscope.runs.execution.execute import execute
from headscope.runs.execution.model_cache import ModelCache
from headscope.runs.execution.process import Identity
from headscope.runs.kind import Kind
from headscope.runs.kinds.facts import FactsQuery
from headscope.runs.learned_scores import newest, result_of
from headscope.runs.policy.access_policy import check_access
from headscope.runs.policy.owner import acting_for, owner
from headscope.runs.policy.uploads import keep, path_of
from headscope.runs.policy.users import login
from headscope.runs.run import CANCELLED, DONE, QUEUED, Run
from headscope.runs.store import SCHEMA, Store
from headscope.tasks.own_data import Columns, hub_rows
from tests.runs.counting import Counting, on_step

BLANKS = (" ", ""), ("", " "), ("\t", "\n"), ("\N{NO-BREAK SPACE}", "")


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HEADSCOPE_HOME", str(tmp_path))
    monkeypatch.setattr("headscope.runs.client.supervise", lambda _: None)
    return tmp_path


@pytest.fixture
def ada(home: Path) -> Store:
    return Store(home, "ada")


@pytest.fixture
def bob(home: Path) -> Store:
    return Store(home, "bob")


def done(store: Store, kind: Kind) -> Run:
    run = submit(store, kind)
    execute(store, store.claim_one(run.id, Identity.own()), ModelCache())
    return store.get(run.id)


def test_everybody_lists_their_own_runs_and_a_shell_lists_all(ada: Store, bob: Store) -> None:
    first, second = submit(ada, Counting("looker")), submit(bob, Counting("looker", to=2))
    assert ([run.id for run in ada.runs()], [run.id for run in bob.runs()]) == ([first.id], [second.id])
    assert {run.owner for run in Store(ada.folder).runs()} == {"ada", "bob"}


def test_who_asks_for_the_same_has_a_run_of_their_own(ada: Store, bob: Store) -> None:
    first, second = done(ada, Counting("looker")), submit(bob, Counting("looker"))
    assert first.id != second.id
    assert first.folder != second.folder
    assert (first.state, second.state) == (DONE, QUEUED)


def test_a_page_finds_its_run_by_what_it_asks_for(ada: Store, bob: Store) -> None:
    run = done(ada, Counting("looker"))
    asked = Counting("looker").as_run(ada.folder).id
    assert ada.get(asked) == ada.get(run.id) == run
    assert ada.points(asked) == ada.points(run.id) != []
    with pytest.raises(KeyError, match="no run"):
        bob.get(asked)


def test_nobody_reads_or_changes_the_run_of_another_by_its_id(ada: Store, bob: Store) -> None:
    waiting, ended = submit(ada, Counting("looker")), done(ada, Counting("looker", to=2))
    before = [ada.get(waiting.id), ada.get(ended.id)]
    for change in (bob.get, bob.delete, lambda one: bob.rename(one, "mine")):
        with pytest.raises(KeyError, match="no run"):
            change(ended.id)
    bob.cancel(waiting.id)
    bob.resume(ended.id)
    assert bob.prune(0) == 0
    assert bob.points(ended.id) == []
    assert [ada.get(waiting.id), ada.get(ended.id)] == before
    assert ended.folder.exists()


def test_everybody_changes_their_own(ada: Store) -> None:
    run = submit(ada, Counting("looker"))
    ada.cancel(run.id)
    assert ada.get(run.id).state == CANCELLED
    ada.resume(run.id)
    assert ada.get(run.id).state == QUEUED
    ada.rename(run.id, "counted")
    assert ada.get(run.id).title == "counted"
    ada.cancel(run.id)
    ada.delete(run.id)
    assert ada.runs() == []


def test_a_file_from_before_there_were_owners_is_brought_up_to_date(home: Path) -> None:
    before = SCHEMA.replace(",\n    owner TEXT NOT NULL DEFAULT ''", "")
    assert "owner" not in before
    connection = sqlite3.connect(home / "headscope.sqlite")
    connection.executescript(before)
    connection.execute(
        "INSERT INTO runs (id, kind, title, model, fingerprint, spec, lane, kept, state, created, queued) "
        "VALUES ('0123', 'counting', 'old', 'looker', 'f', '{\"model\": \"looker\"}', 'long', 1, 'done', 1.0, 1.0)"
    )
    connection.execute("INSERT INTO points VALUES ('0123', 0, '{\"number\": 0}')")
    connection.commit()
    connection.close()
    store = Store(home)
    assert (store.get("0123").title, store.get("0123").owner) == ("old", "")
    assert store.points("0123") == [{"number": 0}]
    assert Store(home).runs() == store.runs() != []
    assert Store(home, "ada").runs() == []
    assert done(Store(home, "ada"), Counting("looker")).state == DONE


def test_a_run_works_on_behalf_of_its_owner(ada: Store) -> None:
    seen: list[str | None] = []
    on_step["looker"] = lambda _: seen.append(owner())
    try:
        done(ada, Counting("looker", to=2))
        run_here(Store(ada.folder), Counting("looker", to=1))
    finally:
        on_step.pop("looker")
    assert seen == ["ada", "ada", None]
    assert owner() is None


def test_who_acts_for_somebody_acts_for_the_one_before_afterwards() -> None:
    with acting_for("ada"):
        with acting_for("bob"):
            assert owner() == "bob"
        assert owner() == "ada"


def test_learned_scores_come_from_runs_of_the_same_owner(ada: Store) -> None:
    asked = replace(Counting("looker").as_run(ada.folder), kind="learn", spec={"gates": "l0"}, fingerprint="f")
    run = ada.submit(asked)
    ada.end(run.id, DONE, result={"scores": {"encoder.0.0": 0.5}, "task": "t", "n": 1})
    with acting_for("ada"):
        assert newest(ada.folder, "f", "l0", {}) == run.id
        assert result_of(ada.folder, run.id, "l0", ["encoder.0.0"], set())["scores"] == {"encoder.0.0": 0.5}
    with acting_for("bob"):
        assert newest(ada.folder, "f", "l0", {}) == ""
        with pytest.raises(KeyError, match="no run"):
            result_of(ada.folder, run.id, "l0", ["encoder.0.0"], set())


def test_an_unknown_way_to_sign_in_is_named_by_its_first_forty_characters(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADSCOPE_LOGIN", "x" * 100)
    with pytest.raises(ValueError, match=r"is 'x{40}'; allowed are off, "):
        login()


@pytest.fixture
def signing_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADSCOPE_LOGIN", "password")


def test_without_a_login_any_folder_is_taken(home: Path) -> None:
    check_access({"model": str(home), "data": __file__}, home)


@pytest.mark.usefixtures("signing_in")
def test_who_signs_in_opens_folders_of_their_own_runs_alone(ada: Store) -> None:
    run = done(ada, Counting("looker"))
    (run.folder / "model").mkdir()
    for name in (str(run.folder / "model"), str(run.folder), f"{run.folder}/../{run.id}/model"):
        with acting_for("ada"):
            check_access({"model": name}, ada.folder)
        with acting_for("bob"), pytest.raises(ValueError, match="is not in a folder that this server opens"):
            check_access({"model": name}, ada.folder)


@pytest.mark.usefixtures("signing_in")
@pytest.mark.parametrize(
    "name",
    ["/", "/etc/passwd", "/nowhere/at/all", "~", "~nobody-here/x", "./headscope/specimens/looker", "a/../../b", "docs"]
    + [f"{before}{name}{after}" for name in ("/", "~", ".", "docs", "owner/name") for before, after in BLANKS],
)
def test_who_signs_in_looks_at_no_other_folder_whether_it_exists_or_not(home: Path, name: str) -> None:
    with acting_for("ada"):
        for spec in (
            {"model": name},
            {"model": "looker", "data": name},
            {"model": "looker", "checkpoints": [name]},
            {"model": "looker", "parser": name},
        ):
            with pytest.raises(ValueError, match="is not in a folder that this server opens"):
                check_access(spec, home)
        with pytest.raises(ValueError, match="is not in a folder that this server opens"):
            path_of(name)


@pytest.mark.usefixtures("signing_in")
@pytest.mark.parametrize(("before", "after"), BLANKS)
def test_blanks_around_a_name_open_no_folder(ada: Store, before: str, after: str) -> None:
    (ada.folder / "secret").mkdir()
    for name in (str(ada.folder / "secret"), "docs"):
        with pytest.raises(ValueError, match="is not in a folder that this server opens"):
            submit(ada, FactsQuery(f"{before}{name}{after}"))


@pytest.mark.usefixtures("signing_in")
def test_who_signs_in_may_use_specimens_the_hub_and_uploads(home: Path) -> None:
    mark = keep("rows.csv", b"text\nfirst")
    with acting_for("ada"):
        check_access({"model": "looker", "data": path_of(mark)}, home)
        check_access({"model": "owner/name", "data": "hub:owner/name:part", "parser": "en_core_web_sm"}, home)
        with pytest.raises(ValueError, match="is not in a folder that this server opens"):
            check_access({"model": "looker", "data": str(home / "uploads")}, home)
        with pytest.raises(ValueError, match="is not in a folder that this server opens"):
            check_access({"model": "looker", "data": str(home / "users")}, home)


@pytest.mark.parametrize(
    "name",
    ["csv", "text", "json:part", "parquet", "", "/", "/etc", "uploads/0123456789abcdef", ".", "..", "a/..", "../a/b",
     "a/b/c", "~/b", "./a", "a/b:/etc", "http://a/b", "hf://datasets/a/b", "a/b ", "a\\b", "a/b.py:c:d", "tests/jobs"],
)  # fmt: skip
def test_a_data_set_of_the_hub_is_no_way_to_a_file(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    for folder in ("uploads/0123456789abcdef", "tests/jobs"):
        (tmp_path / folder).mkdir(parents=True, exist_ok=True)
    monkeypatch.chdir(tmp_path)
    for check in (
        lambda: check_access({"model": "looker", "data": f"hub:{name}"}, home),
        lambda: path_of(f"hub:{name}"),
        lambda: hub_rows(name, Columns("text")),
    ):
        with pytest.raises(ValueError, match="allowed is owner/name, or owner/name:configuration, of the hub"):
            check()


def test_folders_can_be_opened_to_all_and_a_link_does_not_lead_out(
    home: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    shared, secret = tmp_path_factory.mktemp("shared"), tmp_path_factory.mktemp("secret")
    (shared / "link").symlink_to(secret)
    monkeypatch.setenv("HEADSCOPE_FOLDERS", str(shared))
    check_access({"model": str(shared / "model")}, home)
    for name in (str(shared / "link"), f"{shared}/../{secret.name}", f"{shared}-other/model"):
        with pytest.raises(ValueError, match="is not in a folder that this server opens"):
            check_access({"model": name}, home)


def test_folders_of_a_user_that_is_not_there_are_refused_by_their_setting(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEADSCOPE_FOLDERS", "~nobody-here/models")
    with pytest.raises(ValueError, match="HEADSCOPE_FOLDERS is '~nobody-here/models'; allowed are folders"):
        check_access({"model": "/models"}, home)
