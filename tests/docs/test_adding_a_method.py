"""docs/adding-a-method.md, followed to the letter: every file, command and row is taken from the page."""

from __future__ import annotations

import importlib.util
import re
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
from streamlit.testing.v1 import AppTest

import cli
from analysis.importance import method as method_module
from analysis.importance.method import method_of, methods
from jobs.client import run_here
from jobs.kinds.facts import FactsQuestion
from jobs.kinds.importance import ImportanceRun
from jobs.kinds.methods import MethodsQuestion, code_mark
from jobs.store import Store
from tests.analysis import test_importance_contract as contract
from tests.docs.blocks import DOCS, blocks
from tools.check_docs import untold_methods
from ui.asking import store_of

ROOT = DOCS.parent
PAGE = "adding-a-method.md"
TITLED = re.compile(r'^```python title="([^"]+)"\n(.*?)^```$', re.MULTILINE | re.DOTALL)
KEY, TITLE, FILE = "relative", "Relative gradient", "analysis/importance/relative.py"
KIND = "encoder"


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The files of the page as it gives them; none of them is in the project already."""
    written = {}
    for path, code in TITLED.findall((DOCS / PAGE).read_text(encoding="utf-8")):
        assert not (ROOT / path).exists()
        written[path] = tmp_path_factory.mktemp("added") / Path(path).name
        written[path].write_text(code, encoding="utf-8")
    return written


@pytest.fixture(scope="module")
def added(files: dict[str, Path]) -> Iterator[None]:
    """The method is imported as its file says, and forgotten in the end."""
    methods()
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(method_module._METHODS._entries, KEY, None)
        imported("analysis.importance.relative", files[FILE], patch)
        yield


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A store of its own, in which no worker starts: another process would not know the method."""
    folder = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HEADLIGHT_HOME", str(folder))
        patch.setattr("jobs.client.tend", lambda _: None)
        patch.setattr("ui.shell.tend", lambda _: None)
        store_of.clear()
        yield folder
    store_of.clear()


def imported(name: str, path: Path, patch: pytest.MonkeyPatch) -> ModuleType:
    """A module as its file says, until the patch is undone."""
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    patch.setitem(sys.modules, name, module)
    spec.loader.exec_module(module)
    return module


def commands(program: str) -> list[list[str]]:
    """The commands of the page that begin so, as words without that beginning."""
    lines = [line for block in blocks(PAGE, "bash") for line in block.splitlines() if line.startswith(program)]
    return [shlex.split(line.removeprefix(program)) for line in lines]


@pytest.mark.usefixtures("added", "home")
def test_the_commands_of_the_page_list_and_run_the_method(capsys: pytest.CaptureFixture[str]) -> None:
    printed = []
    for words in commands("python cli.py "):
        assert cli.main(words) == 0
        printed.append(capsys.readouterr().out)
    listed, scored, changed = printed
    assert re.search(rf"^{KEY} .*\(ours\)\n +--option floor=0.001$", listed, re.MULTILINE)
    first, second = (re.findall(r"encoder\.\d\.\d +(\S+)", one) for one in (scored, changed))
    assert len(first) == len(second) == 36
    assert first != second


@pytest.mark.usefixtures("added")
def test_its_own_test_passes_and_the_contract_holds(files: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    (path,) = (path for path in files if path.startswith("tests/"))
    (words,) = commands("pytest ")
    assert KEY in words
    assert Path(path).parent == Path(words[-3])
    own = imported("test_relative", files[path], monkeypatch)
    own.test_every_derivative_is_divided_by_the_loss_of_its_example(KIND)
    method = method_of(KEY)()
    contract.test_a_method_says_what_it_is(type(method))
    contract.test_the_head_that_does_the_task_comes_first(method)
    for check in (
        contract.test_every_head_has_one_finite_score_and_error,
        contract.test_heads_of_random_models_differ_and_only_signed_scores_are_negative,
        contract.test_the_model_is_left_as_it_was,
        contract.test_a_second_run_and_a_run_in_batches_of_one_row_give_the_same,
        contract.test_heads_removed_for_good_score_nothing,
    ):
        check(KIND, method)


@pytest.mark.usefixtures("added")
def test_the_importance_page_offers_it_and_shows_its_scores(home: Path) -> None:
    store = Store(home)
    for kind in (
        FactsQuestion("looker"),
        MethodsQuestion("", code_mark()),
        ImportanceRun("looker", method=KEY),
    ):
        assert run_here(store, kind).state == "done"
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60)
    app.query_params["model"] = "looker"
    app.run()
    app.switch_page("pages/importance.py").run()
    assert TITLE in app.selectbox(key="method").options
    app.selectbox(key="method").select(TITLE).run()
    assert [one.value for one in [*app.exception, *app.error]] == []
    shown = "".join(str(one.proto.body) for one in app.main.get("html"))
    assert "The share of an example&#x27;s loss that hangs on the gate of the head." in shown


@pytest.mark.usefixtures("added")
def test_the_check_of_the_documents_misses_it_until_the_row_of_the_page_is_there() -> None:
    table = (DOCS / "importance.md").read_text(encoding="utf-8")
    assert untold_methods(methods(), table) == [
        f"docs/importance.md: no row of the table tells of the importance method {KEY}"
    ]
    (row,) = blocks(PAGE, "markdown")
    assert untold_methods(methods(), table.replace("| `taylor`", row + "| `taylor`")) == []
    assert commands("python tools/check_docs.py") == [[]]
