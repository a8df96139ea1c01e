"""docs/adding-a-method.md, followed to the letter in a copy of the project: every file, command and row is its own."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import fresh
from tests.docs.blocks import DOCS, blocks
from tools.check_docs import untold_methods

ROOT = DOCS.parent
PAGE = "adding-a-method.md"
TITLED = re.compile(r'^```python title="([^"]+)"\n(.*?)^```$', re.MULTILINE | re.DOTALL)
METHOD, TEST = "analysis/importance/methods/relative.py", "tests/analysis/test_relative.py"
UNTOLD = "docs/importance.md: no row of the table tells of the importance method relative"
LEFT_OUT = shutil.ignore_patterns(".git", ".venv", ".*_cache", ".hypothesis", "build")


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """The project as it is, in a folder that may be changed; it keeps what it computes to itself."""
    return Path(shutil.copytree(ROOT, tmp_path / "project", symlinks=True, ignore=LEFT_OUT))


def done(tree: Path, line: str) -> subprocess.CompletedProcess[str]:
    """What a command of the page does there."""
    own = {"HEADSCOPE_HOME": str(tree.parent / "home"), "PYTHONPATH": str(tree)}
    program, *words = shlex.split(line)
    if program == "headscope":
        return fresh.run(program, *words, cwd=tree, environment=own)
    python = [sys.executable] if program == "python" else [sys.executable, "-m", program]
    return subprocess.run(
        [*python, *words], cwd=tree, env=os.environ | own, capture_output=True, text=True, timeout=800
    )


def commands(beginning: str) -> Iterator[str]:
    """The commands of the page that begin so."""
    for block in blocks(PAGE, "bash"):
        yield from (line for line in block.splitlines() if line.startswith(beginning))


def files() -> dict[str, str]:
    """The files of the page as it gives them."""
    return dict(TITLED.findall((DOCS / PAGE).read_text(encoding="utf-8")))


@pytest.mark.timeout(1200)
def test_the_page_leads_to_a_method_in_the_registry_the_running_app_the_tests_and_the_documents(tree: Path) -> None:
    assert list(files()) == [METHOD, TEST]
    waiting = tree.parent / "relative.py"
    waiting.write_text(files()[METHOD], encoding="utf-8")

    page = done(tree, f"python -m tests.docs.open_page {waiting} {METHOD}")  # step 1, while the app runs
    assert page.returncode == 0, page.stdout + page.stderr[-2000:]
    assert "offered before: False\noffered after: True\n" in page.stdout
    assert "problem:" not in page.stdout

    listed, scored, changed = (done(tree, line).stdout for line in commands("headscope "))  # step 2
    assert re.search(r"^relative .*\(ours\)\n +--option floor=0.001$", listed, re.MULTILINE)
    first, second = (re.findall(r"encoder\.\d\.\d +(\S+)", one) for one in (scored, changed))
    assert len(first) == len(second) == 36
    assert first != second

    (tree / TEST).write_text(files()[TEST], encoding="utf-8")  # step 3
    (line,) = commands("pytest ")
    tested = done(tree, line)
    assert tested.returncode == 0, tested.stdout[-2000:]
    assert int(re.search(r"(\d+) passed", tested.stdout)[1]) >= 6, "its own test and the contract"

    (line,) = commands("python tools/check_docs.py")  # step 4
    (row,) = blocks(PAGE, "markdown")
    table = tree / "docs" / "importance.md"
    assert untold_methods(["relative"], table.read_text(encoding="utf-8")) == [UNTOLD]
    table.write_text(table.read_text(encoding="utf-8").replace("| `taylor`", row + "| `taylor`"), encoding="utf-8")
    told = done(tree, line)
    assert told.returncode == 0, told.stderr
