"""What a full disk or a locked store does to a page: one sentence, on every page, after every click, in every part."""

from __future__ import annotations

import ast
import errno
import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from headscope.runs.client import run_here, submit
from headscope.runs.store import Store
from headscope.web.page import errors
from headscope.web.page.markdown import plain
from headscope.web.page.site_map import SITE_MAP
from headscope.web.runs import requests
from tests.runs.counting import Counting
from tests.web.reading import read, read_all

ROOT = Path(__file__).parents[3]
PAGES = [page.file for group in SITE_MAP.values() for page in group]
LOCKED = "headscope.sqlite is locked by another program"
MESSAGES = {"error": 0, "warning": 0, "info": 0, "success": 0, "toast": 0, "progress": 1}
"""What shows Markdown in a box or on a bar, with the place of its text."""


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("HEADSCOPE_HOME", str(tmp_path))
    monkeypatch.setattr("headscope.runs.client.supervise", lambda _: None)
    monkeypatch.setattr("headscope.web.page.shell.supervise", lambda _: None)
    requests.store_of.clear()
    yield tmp_path
    requests.store_of.clear()


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
    assert set(read_all(app.error)) == {LOCKED}


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

    errors.by_click(refuse)
    assert st.session_state.pop(errors.REFUSED) == said


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
    assert read_all(app.error) == [LOCKED]


def test_the_progress_of_a_run_is_one_sentence_while_nobody_can_read_it(monkeypatch: pytest.MonkeyPatch) -> None:
    run = submit(Store(), Counting("looker"))
    lock(monkeypatch)
    app = AppTest.from_string(
        f"from headscope.web.runs.requests import _progress\n_progress({run.id!r})", default_timeout=60
    ).run()
    assert [error.value for error in app.exception] == []
    assert read_all(app.error) == [LOCKED]


def test_every_part_that_runs_again_by_itself_and_every_click_on_a_store_passes_the_wrapper() -> None:
    for path in sorted([*(ROOT / "headscope" / "web").rglob("*.py"), *(ROOT / "pages").glob("*.py")]):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef):
                names = [ast.unparse(one) for one in node.decorator_list]
                is_part = any(name.startswith(("st.fragment", "look_every")) for name in names)
                safe = "told" in names or "with one_sentence()" in ast.unparse(node)
                assert not is_part or safe, f"{path.name}: {node.name} runs alone and shows a traceback"
            if isinstance(node, ast.keyword) and node.arg in ("on_click", "on_change"):
                said = ast.unparse(node.value)
                assert not said.startswith("store()"), f"{path.name}: {said} shows a traceback"


@pytest.mark.parametrize(
    "text", ["no_run of a_b, 95 % (3:4)", "[Sign in](https://evil.example)", "$x$ :red[y] `z` <b>"]
)
def test_a_sentence_on_a_page_is_read_as_it_was_said(text: str) -> None:
    script = f"from headscope.web.page.errors import one_sentence\nwith one_sentence():\n    raise ValueError({text!r})"
    (shown,) = AppTest.from_string(script, default_timeout=60).run().error
    assert read(shown.value) == text
    bare = re.sub(r"\\[!-/:-@\[-`{-~]", "", shown.value)
    assert not re.search(r"[!-/:-@\[-`{-~]", bare), "Markdown sees no sign of its own"


@pytest.mark.parametrize("text", ["http://evil.example", "WWW.evil.example", "ada@evil.example", ":material/home:"])
def test_what_streamlit_looks_for_after_the_backslashes_is_taken_apart(text: str) -> None:
    assert text not in plain(text).replace("\\", "")
    assert read(plain(text)) == text


def test_every_message_that_is_not_ours_word_for_word_is_made_plain() -> None:
    for path in sorted([*(ROOT / "headscope" / "web").rglob("*.py"), *(ROOT / "pages").glob("*.py")]):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
                continue
            if node.func.attr in MESSAGES and len(node.args) > MESSAGES[node.func.attr]:
                said = node.args[MESSAGES[node.func.attr]]
                is_plain = isinstance(said, ast.Call) and ast.unparse(said.func) == "plain"
                assert is_plain or isinstance(said, ast.Constant), f"{path.name}: {ast.unparse(said)} is Markdown"


def test_a_demo_without_a_login_offers_no_way_to_rename_or_delete(monkeypatch: pytest.MonkeyPatch) -> None:
    run_here(Store(), Counting("looker"))
    labels = {"Delete", "Delete them"}
    app = opened("pages/runs.py").run()
    assert labels <= {button.label for button in app.button}
    assert [one.label for one in app.text_input] == ["Name"]
    monkeypatch.setenv("HEADSCOPE_DEMO", "1")
    app = opened("pages/runs.py").run()
    assert [error.value for error in app.exception] == []
    assert not labels & {button.label for button in app.button}
    assert list(app.text_input) == []
