"""The Dynamics page with checkpoints that a visitor names, on a store that answers at once."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from headscope.models.loading.known_models import specimen_folder
from headscope.pruning.search.dynamics import read_history
from headscope.runs.kind import Kind
from headscope.runs.kinds.dynamics import DynamicsRun
from headscope.runs.run import DONE, Run
from headscope.runs.store import Store
from headscope.web.runs import requests

ROOT = Path(__file__).parents[2]


@pytest.fixture
def asked() -> list[Kind]:
    return []


@pytest.fixture
def app(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, asked: list[Kind]) -> AppTest:
    """The app with a store that answers at once; what is asked of checkpoints is answered by a specimen's history."""
    moments = [moment.to_json() for moment in read_history(specimen_folder("looker") / "history.json")]

    def at_once(store: Store, kind: Kind) -> Run:
        asked.append(kind)
        return replace(kind.as_run(store.folder), state=DONE, result={"moments": moments[-2:]})

    monkeypatch.setenv("HEADSCOPE_HOME", str(tmp_path))
    monkeypatch.setattr(requests, "submit", at_once)
    requests.store_of.clear()
    opened = AppTest.from_file(str(ROOT / "app.py"), default_timeout=100)
    opened.query_params["model"] = "looker"
    return opened.switch_page("pages/dynamics.py")


def test_own_checkpoints_are_one_a_line_even_with_spaces_in_their_names(app: AppTest, asked: list[Kind]) -> None:
    app.run()
    assert len(app.select_slider(key="moment").options) > 2
    app.text_area(key="checkpoint-list").set_value("looker\n\n /the last one \n").run()
    app.button(key="judge-checkpoints").click().run()
    assert [error.value for error in [*app.exception, *app.error]] == []
    (dynamics,) = {str(one.checkpoints): one for one in asked if isinstance(one, DynamicsRun)}.values()
    assert (dynamics.model, dynamics.checkpoints) == ("/the last one", ["looker", "/the last one"])
    assert len(app.select_slider(key="moment").options) == 2
