"""Boxes of the Prune Lab keep their place whatever comes and goes above them: one that moves shuts its open list."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.element_tree import Block

from headscope.runs.client import run_here
from headscope.runs.kinds.facts import FactsQuery
from headscope.runs.kinds.importance import ImportanceRun
from headscope.runs.kinds.methods import MethodsQuery, code_mark
from headscope.runs.kinds.sweep import SweepRun
from headscope.runs.store import Store
from headscope.web.page.errors import REFUSED
from headscope.web.page.site_map import PRUNE_LAB
from headscope.web.runs import requests
from tests.web.reading import read

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store that knows what the lab asks of the looker first."""
    home = tmp_path_factory.mktemp("store")
    for kind in (FactsQuery("looker"), MethodsQuery("", code_mark()), ImportanceRun("looker")):
        run_here(Store(home), kind)
    return home


@pytest.fixture
def lab(folder: Path, monkeypatch: pytest.MonkeyPatch) -> AppTest:
    monkeypatch.setenv("HEADSCOPE_HOME", str(folder))
    requests.store_of.clear()
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60)
    app.query_params["model"] = "looker"
    app.run()
    app.switch_page(PRUNE_LAB.file)
    return app


def place(block: Block, key: str) -> list[int]:
    """The way to a box through all that holds it; empty if it is not there."""
    for at, child in block.children.items():
        if getattr(child, "key", None) == key:
            return [at]
        if isinstance(child, Block) and (within := place(child, key)):
            return [at, *within]
    return []


def test_boxes_keep_their_place_while_the_scores_are_computed(lab: AppTest) -> None:
    before = place(lab.run().main, "preset-way")
    lab.selectbox(key="lab-method").select("fisher").run()  # which nobody computes here
    assert lab.main.get("progress")
    assert place(lab.main, "preset-way") == before != []


def test_boxes_keep_their_place_below_the_sentence_of_a_refused_click(lab: AppTest) -> None:
    before = place(lab.run().main, "preset-way")
    lab.session_state[REFUSED] = "There is no room left."
    lab.run()
    assert [read(error.value) for error in lab.error] == ["There is no room left."]
    assert place(lab.main, "preset-way") == before != []


@pytest.fixture
def sweeps(folder: Path) -> Iterator[Store]:
    """The store, in which no sweep is left."""
    store = Store(folder)
    yield store
    for run in store.runs(kind=SweepRun.key):
        store.cancel(run.id)
        store.delete(run.id)


def test_boxes_of_a_sweep_keep_their_place_when_somebody_else_sweeps(lab: AppTest, sweeps: Store) -> None:
    before = place(lab.run().main, "sweep-step")
    sweeps.submit(SweepRun("looker").as_run(sweeps.folder))
    lab.run()
    assert lab.button(key="cancel-sweep")
    assert place(lab.main, "sweep-step") == before != []


def test_boxes_of_another_sweep_keep_their_place_when_the_one_that_is_shown_ends(lab: AppTest, sweeps: Store) -> None:
    run = sweeps.submit(SweepRun("looker").as_run(sweeps.folder))
    before = place(lab.run().main, "sweep-step")
    sweeps.cancel(run.id)
    lab.run()
    assert lab.button(key="resume-sweep")
    assert place(lab.main, "sweep-step") == before != []


def test_the_form_of_a_sweep_goes_behind_a_button_once_its_own_sweep_is_started(lab: AppTest, sweeps: Store) -> None:
    before = place(lab.run().main, "sweep-step")
    lab.button(key="start-sweep").click().run()
    assert sweeps.runs(kind=SweepRun.key)
    assert place(lab.main, "sweep-step") not in (before, [])
