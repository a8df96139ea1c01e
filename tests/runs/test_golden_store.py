"""A store that was written before the project had its name, in tests/runs/golden/store.zip, is found and opened."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest

from headscope.cli.main import main
from headscope.runs.client import run_here
from headscope.runs.data_dir import home
from headscope.runs.kind import kind_of
from headscope.runs.store import FORMER_NAME, NAME, Store

STORE = Path(__file__).parent / "golden" / "store.zip"
RUNS = {
    "221b6f6102c34fb5": "Evaluation of looker on development",
    "a5cc1a003d739567": "Export of looker without 2 heads, headlight",
    "99187640e99c99bf": "Budget of looker: accuracy within 20 points",
    "9b62e31c3524e87b": "Roles of looker, 20 examples",
    "a34a9e4dcedb7251": "Sweep of looker: gradient",
    "c0e533df40fac8de": "Importance of looker: gradient, 32 examples",
}
"""Ids and titles as the old program listed them."""

RENAMED = "a5cc1a003d739567"
"""Names a format after the project, so asking for the same again is another run."""


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    with zipfile.ZipFile(STORE) as packed:
        packed.extractall(tmp_path)
    monkeypatch.setenv("HEADSCOPE_HOME", str(tmp_path))
    return Store(home())


def test_the_file_of_the_former_name_is_opened_and_no_second_one_made(store: Store) -> None:
    assert store.path.name == FORMER_NAME
    assert not (store.folder / NAME).exists()
    assert {run.id: run.title for run in store.runs()} == RUNS


def test_a_new_folder_has_the_new_name(tmp_path: Path) -> None:
    assert Store(tmp_path).path.name == NAME


def test_every_run_is_read_with_its_kind_its_result_and_its_points(store: Store) -> None:
    runs = [store.get(run_id) for run_id in RUNS]
    assert all(run.state == "done" and run.result for run in runs)
    assert {run.id for run in runs if store.points(run.id)} >= {"a34a9e4dcedb7251", "99187640e99c99bf"}
    assert [kind_of(run).title for run in runs] == list(RUNS.values())


@pytest.mark.parametrize("run_id", [one for one in RUNS if one != RENAMED])
def test_asking_for_the_same_again_finds_the_run_of_then(store: Store, run_id: str) -> None:
    kind = kind_of(store.get(run_id))
    assert kind.as_run(store.folder).id == run_id
    assert run_here(store, kind).finished == store.get(run_id).finished


@pytest.mark.usefixtures("store")
def test_the_command_line_lists_them(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["runs", "--json"]) == 0
    assert {run["id"]: run["title"] for run in json.loads(capsys.readouterr().out)["runs"]} == RUNS
