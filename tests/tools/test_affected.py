from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tools import affected
from tools.affected import ALWAYS, changed_files, dependencies, tracked_files

FILES = {
    "headscope/models/heads.py": "",
    "headscope/models/gating.py": "from headscope.models.heads import HeadId\n",
    "headscope/models/__init__.py": "",
    "methods/first.py": "from models import heads\n",
    "methods/__init__.py": "",
    "registry.py": 'METHODS = Registry("all.methods")\n',
    "all/methods/second.py": "",
    "all/methods/__init__.py": "",
    "pages/lab.py": "import registry\n",
    "docs/lab.md": "",
    "tests/test_project.py": "",
    "tests/test_heads.py": "from headscope.models.heads import HeadId\n",
    "tests/test_gating.py": "from headscope.models.gating import gated\n",
    "tests/test_methods.py": "import registry\n",
    "tests/test_lab.py": 'open("pages/lab.py")\n',
    "tests/test_docs.py": 'READ = "docs/lab.md"\n',
    "tests/browser/conftest.py": "",
    "tests/browser/test_page.py": "from headscope.models.gating import gated\n",
    "tests/browser/test_lab.py": 'page.goto(f"{address}/lab?model=looker")\n',
}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A small project under git in which everything is committed."""
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    for command in (["init", "-q"], ["add", "."], ["-c", "user.name=a", "-c", "user.email=b", "commit", "-qm", "c"]):
        subprocess.run(["git", *command], cwd=tmp_path, check=True)
    monkeypatch.setattr(affected, "ROOT", tmp_path)
    return tmp_path


def found(*changed: str) -> list[str]:
    return affected.affected(dependencies(tracked_files()), changed)


@pytest.mark.parametrize(
    ("changed", "tests"),
    [
        ("headscope/models/heads.py", ["tests/test_heads.py", "tests/test_gating.py"]),
        ("headscope/models/gating.py", ["tests/test_gating.py"]),
        ("all/methods/second.py", ["tests/test_methods.py", "tests/test_lab.py"]),
        ("pages/lab.py", ["tests/browser/test_lab.py", "tests/test_lab.py"]),
        ("docs/lab.md", ["tests/test_docs.py"]),
        ("registry.py", ["tests/test_methods.py", "tests/test_lab.py"]),
        ("tests/test_heads.py", ["tests/test_heads.py"]),
        ("tests/browser/conftest.py", ["tests/browser/test_lab.py", "tests/browser/test_page.py"]),
    ],
)
@pytest.mark.usefixtures("project")
def test_the_tests_that_a_change_reaches_are_found_nearest_first(changed: str, tests: list[str]) -> None:
    assert [test for test in found(changed) if test != ALWAYS] == tests


@pytest.mark.usefixtures("project")
def test_the_rules_of_the_project_are_checked_whatever_changes() -> None:
    assert ALWAYS in found("docs/unknown.md")
    assert found() == [ALWAYS]


def test_changed_are_files_that_differ_from_the_commit_and_new_ones(project: Path) -> None:
    (project / "headscope/models/heads.py").write_text("HEADS = 1\n")
    (project / "headscope/models/new.py").touch()
    (project / "docs/lab.md").unlink()
    assert changed_files("HEAD") == {"headscope/models/heads.py", "headscope/models/new.py", "docs/lab.md"}
    assert "docs/lab.md" not in tracked_files()
