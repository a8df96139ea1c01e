"""Every page, run by Streamlit's own test harness on a store whose answers are there already."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from jobs.client import run_here
from jobs.kinds.attention import AttentionQuestion, DrawingQuestion
from jobs.kinds.facts import FactsQuestion
from jobs.kinds.importance import ImportanceRun
from jobs.store import Store
from ui import asking
from ui.site_map import SITE_MAP

ROOT = Path(__file__).parents[2]
PAGES = [page.file for group in SITE_MAP.values() for page in group]


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store in which the looker was scored and looked into."""
    folder = tmp_path_factory.mktemp("store")
    store = Store(folder)
    for kind in (
        FactsQuestion("looker"),
        ImportanceRun("looker"),
        AttentionQuestion("looker", image=0),
        DrawingQuestion("looker", image=0, view="model"),
    ):
        run_here(store, kind)
    return folder


@pytest.fixture
def app(answers: Path, monkeypatch: pytest.MonkeyPatch) -> AppTest:
    monkeypatch.setenv("HEADLIGHT_HOME", str(answers))
    asking.store.clear()
    opened = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60)
    opened.query_params["model"] = "looker"
    return opened


@pytest.mark.parametrize("page", PAGES)
def test_every_page_runs_without_an_exception_or_an_error(app: AppTest, page: str) -> None:
    app.run()
    app.switch_page(page).run()
    assert [error.value for error in app.exception] == []
    assert [error.value for error in app.error] == []
    assert "Headlight" in "".join(one.value for one in app.sidebar.get("html"))


def test_the_model_page_tells_where_its_scores_come_from(app: AppTest) -> None:
    app.run()
    shown = "".join(str(one.proto.body) for one in app.main.get("html"))
    assert "36 heads, coloured by how much the loss depends on each" in shown
    assert "Handwritten digits, calibration, 128 examples" in shown


def test_pages_load_no_torch() -> None:
    """A server that loads torch starts seconds later and shares its interpreter with heavy work."""
    code = f"""
import runpy, sys
sys.path.insert(0, {str(ROOT)!r})
for page in {[page.removesuffix(".py").replace("/", ".") for page in PAGES]!r}:
    names = {{}}
    source = open({str(ROOT)!r} + "/" + page.replace(".", "/") + ".py").read()
    imports = [line for line in source.splitlines() if line.startswith(("import ", "from "))]
    exec("\\n".join(imports), names)
assert "torch" not in sys.modules, "torch was imported"
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr[-500:]
