"""The project keeps its own rules: sizes, pins, layers, settings, documents."""

import ast
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from tools.check_docs import documents, problems

ROOT = Path(__file__).resolve().parent.parent
SOURCES = (".py", ".js", ".css", ".html", ".md", ".toml", ".sh")
MADE = (ROOT / "build", ROOT / "runs")
"""What `make docs` and using the app leave behind."""

PACKAGES = ("pages", "web", "cli", "runs", "analysis", "pruning", "tasks", "models", "specimens")
LESSONS = ("papers", "lesson", "glossary")


def sources(root: Path) -> Iterator[Path]:
    """What people write by hand: everything but data, the environment, caches and what tools make."""
    for path in sorted(root.iterdir()):
        if path in MADE:
            continue
        if path.is_dir() and (path.name == ".streamlit" or not path.name.startswith((".", "__pycache__"))):
            yield from sources(path)
        elif path.suffix in SOURCES or path.name == "Makefile":
            yield path


def imported(path: Path) -> set[str]:
    """The top-level names of everything a file imports; of our own package the folders as well."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return {".".join(name.split(".")[: 2 if name.startswith("headscope.") else 1]) for name in names}


def test_no_file_is_longer_than_500_lines():
    lengths = {path.relative_to(ROOT): len(path.read_text(encoding="utf-8").splitlines()) for path in sources(ROOT)}
    assert len(lengths) > 20
    assert {path: length for path, length in lengths.items() if length > 500} == {}


@pytest.mark.parametrize("name", ["requirements.txt", "requirements/dev.txt"])
def test_requirements_are_pinned_exactly(name):
    lines = [line for line in (ROOT / name).read_text().splitlines() if line and not line.startswith(("#", "-r "))]
    assert lines
    assert [line for line in lines if not re.fullmatch(r"[A-Za-z0-9._-]+==[0-9][0-9A-Za-z.]*", line)] == []


def test_ci_runs_make_test_and_can_be_executed():
    script = ROOT / ".ci" / "run"
    assert script.read_text().rstrip().endswith("exec make test")
    assert script.stat().st_mode & 0o111


def test_pages_do_no_tensor_work():
    heavy = {"torch", "transformers", "captum"}
    assert {str(page): found for page in (ROOT / "pages").rglob("*.py") if (found := imported(page) & heavy)} == {}


def test_the_command_line_works_without_the_interface():
    for path in (ROOT / "headscope" / "cli").rglob("*.py"):
        assert imported(path) & {"headscope.pages", "headscope.web", "app", "streamlit"} == set()


@pytest.fixture
def skeleton(tmp_path) -> Path:
    """The packages without their content, under the rules of this project."""
    names = ["headscope", *(f"headscope/{name}" for name in PACKAGES), "headscope/web/lessons", "reproductions"]
    for name in names:
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").touch()
    for name in LESSONS:
        (tmp_path / "headscope" / "web" / "lessons" / f"{name}.py").touch()
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("package", "other", "rule"),
    [
        ("models", "headscope.tasks", "One direction"),
        ("analysis", "headscope.pruning", "One direction"),
        ("pruning", "headscope.analysis", "One direction"),
        ("runs", "headscope.web", "One direction"),
        ("specimens", "headscope.web", "without the interface"),
        ("web", "headscope.specimens", "reaches for a specimen"),
        ("specimens", "headscope.cli", "reaches for a command"),
        ("cli", "headscope.web", "One direction"),
        ("pages", "torch", "no tensor work"),
        ("models", "reproductions", "nothing imports them"),
        ("web/lessons/papers", "torch", "need no library"),
    ],
)
def test_an_import_against_the_layers_is_reported(skeleton, package, other, rule):
    place = skeleton / "headscope" / package
    (place / "__init__.py" if place.is_dir() else place.with_suffix(".py")).write_text(f"import {other}\n")
    (broken,) = broken_contracts(skeleton)
    assert rule in broken


def test_imports_along_the_layers_are_allowed(skeleton):
    (skeleton / "headscope" / "pages" / "__init__.py").write_text("import headscope.web, headscope.specimens\n")
    (skeleton / "headscope" / "runs" / "__init__.py").write_text(
        "import headscope.analysis, headscope.pruning, torch\n"
    )
    (skeleton / "headscope" / "specimens" / "__init__.py").write_text("import headscope.tasks, headscope.models\n")
    assert broken_contracts(skeleton) == []


def broken_contracts(root: Path) -> list[str]:
    command = [sys.executable, "-c", "from importlinter.cli import lint_imports_command as run; run()", "--no-cache"]
    shown = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False).stdout
    assert "Contracts:" in shown, shown
    return re.findall(r"^(.+) BROKEN$", shown, re.MULTILINE)


def test_the_app_keeps_to_this_machine_and_tells_no_secrets():
    settings = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text())
    assert settings["server"]["address"] == "127.0.0.1"
    assert set(settings["server"]["allowedHosts"]) == {"localhost", "127.0.0.1"}
    assert settings["server"]["maxUploadSize"] <= 200
    assert settings["client"]["showErrorDetails"] == "type"
    assert settings["client"]["toolbarMode"] == "minimal"
    assert settings["browser"]["gatherUsageStats"] is False
    assert settings["theme"]["light"]["primaryColor"] == "#4f46e5"
    assert settings["theme"]["light"].keys() == settings["theme"]["dark"].keys()


def test_streamlit_knows_every_setting():
    command = [sys.executable, "-m", "streamlit", "config", "show"]
    shown = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert "not a valid config option" not in shown.stdout + shown.stderr
    assert shown.stderr == ""


@pytest.fixture
def project(tmp_path) -> Path:
    """A small project whose documents hold."""
    (tmp_path / "docs").mkdir()
    (tmp_path / "README.md").write_text(
        "# Title\n\n```bash\nmake run\nmake test\nheadscope heads MODEL\n```\n\n"
        "[inside](#two-words) [other](docs/other.md#a-heading-with-code) [web](https://example.org/x)\n\n## Two words\n"
    )
    (tmp_path / "docs" / "other.md").write_text("# A heading, with `code`!\n\n[back](../README.md) `[not a link](x)`\n")
    (tmp_path / "CONTRIBUTING.md").write_text("# How\n")
    (tmp_path / "CHANGELOG.md").write_text("# Changes\n")
    (tmp_path / "headscope").mkdir()
    (tmp_path / "headscope" / "__main__.py").write_text("print('usage: headscope [-h] {heads,prune} ...')\n")
    return tmp_path


def test_documents_that_hold_have_no_problem(project):
    assert problems(project) == []


@pytest.mark.parametrize(
    ("file", "text", "problem"),
    [
        ("README.md", "[x](gone.md)", "README.md: link to gone.md, which does not exist"),
        ("README.md", "![x](docs/images/gone.png)", "README.md: link to docs/images/gone.png, which does not exist"),
        ("README.md", '<img src="gone.png">', "README.md: link to gone.png, which does not exist"),
        ("README.md", "[x]: gone.md", "README.md: link to gone.md, which does not exist"),
        ("README.md", "[x](#three-words)", "README.md: link to #three-words, but there is no such heading"),
        ("docs/other.md", "[x](../README.md#gone)", "docs/other.md: link to ../README.md#gone, but there is no such"),
        ("docs/other.md", "[x](../../else.md)", "docs/other.md: link to ../../else.md leaves the project"),
        ("docs/other.md", "see /home/me/model", "docs/other.md: /home/me/model is a path of one machine"),
        ("docs/other.md", "```bash\nheadscope fly\n```", "docs/other.md: headscope fly is unknown"),
    ],
)
def test_a_planted_fault_in_a_document_is_reported(project, file, text, problem):
    with (project / file).open("a") as document:
        document.write(f"\n{text}\n")
    (found,) = problems(project)
    assert found.startswith(problem)


def test_a_readme_without_the_two_commands_is_reported(project):
    readme = project / "README.md"
    readme.write_text(readme.read_text().replace("make test", "make tea"))
    assert problems(project) == ["README.md: does not show `make test`"]


def test_a_missing_document_is_reported(project):
    (project / "CHANGELOG.md").unlink()
    assert problems(project) == ["CHANGELOG.md: missing"]


def test_the_documents_of_this_project_are_among_those_checked():
    names = {str(path.relative_to(ROOT)) for path in documents(ROOT)}
    assert {"README.md", "CONTRIBUTING.md", "CHANGELOG.md", "docs/architecture.md"} <= names
