"""What a full disk or a locked store does to a page: one sentence, on every page, after every click, in every part."""

from __future__ import annotations

import ast
import errno
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from jobs.client import run_here, submit
from jobs.store import Store
from tests.jobs.counting import Counting
from ui import asking, sentence
from ui.site_map import SITE_MAP

ROOT = Path(__file__).parents[2]
PAGES = [page.file for group in SITE_MAP.values() for page in group]
LOCKED = "headlight.sqlite is locked by another program"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("HEADLIGHT_HOME", str(tmp_path))
    monkeypatch.setattr("jobs.client.tend", lambda _: None)
    monkeypatch.setattr("ui.shell.tend", lambda _: None)
    asking.store_of.clear()
    yield tmp_path
    asking.store_of.clear()


def lock(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: Store) -> None:
        raise OSError(LOCKED)

    monkeypatch.setattr(Store, "_connected", refuse)


def opened(page: str) -> AppTest:
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60)
    app.query_params["model"] = "looker"
    app.run()
    app.switch_page(page)
    app.query_params["model"] = "looker"
    return app


@pytest.mark.parametrize("page", PAGES)
def test_a_page_whose_store_cannot_be_used_says_so_in_one_sentence(page: str, monkeypatch: pytest.MonkeyPatch) -> None:
    app = opened(page)
    lock(monkeypatch)
    app.run()
    assert [error.value for error in app.exception] == []
    assert {error.value for error in app.error} == {LOCKED}


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (ValueError("too many"), "too many"),
        (KeyError("no run 'x'"), "no run 'x'"),
        (OSError("locked"), "locked"),
        (OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)), "[Errno 28] No space left on device"),
        (OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "rows.csv"), "No space left on device: rows.csv"),
    ],
)
def test_what_a_click_cannot_do_is_kept_for_the_page_as_one_sentence(error: Exception, said: str) -> None:
    def refuse() -> None:
        raise error

    sentence.by_click(refuse)
    assert st.session_state.pop(sentence.REFUSED) == said


@pytest.mark.parametrize(("label", "ended"), [("Cancel", False), ("Resume", True), ("Delete", True)])
def test_a_click_on_a_run_of_a_locked_store_ends_in_one_sentence(
    label: str, ended: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = submit(Store(), Counting("looker"))
    if ended:
        Store().cancel(run.id)
    app = opened("pages/runs.py").run()

    def refuse(_: Store) -> None:
        raise OSError(LOCKED)

    monkeypatch.setattr(Store, "_transaction", refuse)
    next(button for button in app.button if button.label == label).click().run()
    assert [error.value for error in app.exception] == []
    assert [error.value for error in app.error] == [LOCKED]


def test_the_progress_of_a_run_is_one_sentence_while_nobody_can_read_it(monkeypatch: pytest.MonkeyPatch) -> None:
    run = submit(Store(), Counting("looker"))
    lock(monkeypatch)
    app = AppTest.from_string(f"from ui.asking import _progress\n_progress({run.id!r})", default_timeout=60).run()
    assert [error.value for error in app.exception] == []
    assert [error.value for error in app.error] == [LOCKED]


def test_every_part_that_runs_again_by_itself_and_every_click_on_a_store_passes_the_wrapper() -> None:
    for path in sorted([*(ROOT / "ui").rglob("*.py"), *(ROOT / "pages").glob("*.py")]):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef):
                names = [ast.unparse(one) for one in node.decorator_list]
                is_part = any(name.startswith(("st.fragment", "look_every")) for name in names)
                safe = "told" in names or "with one_sentence()" in ast.unparse(node)
                assert not is_part or safe, f"{path.name}: {node.name} runs alone and shows a traceback"
            if isinstance(node, ast.keyword) and node.arg in ("on_click", "on_change"):
                said = ast.unparse(node.value)
                assert not said.startswith("store()"), f"{path.name}: {said} shows a traceback"


def test_a_demo_without_a_login_offers_no_way_to_rename_or_delete(monkeypatch: pytest.MonkeyPatch) -> None:
    run_here(Store(), Counting("looker"))
    labels = {"Delete", "Delete them"}
    app = opened("pages/runs.py").run()
    assert labels <= {button.label for button in app.button}
    assert [one.label for one in app.text_input] == ["Name"]
    monkeypatch.setenv("HEADLIGHT_DEMO", "1")
    app = opened("pages/runs.py").run()
    assert [error.value for error in app.exception] == []
    assert not labels & {button.label for button in app.button}
    assert list(app.text_input) == []
