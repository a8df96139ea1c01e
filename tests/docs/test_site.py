"""The documents as a site: what `make docs` builds, where its tools are installed; what it is made of, everywhere."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.blocks import DOCS
from tools import docs_site

ROOT = DOCS.parent
EQUATION = re.compile(r"\$\$(.+?)\$\$|(?<![\w$])\$([^$\n]+)\$(?![\w$])", re.DOTALL)
CODE = re.compile(r"^```.*?^```$|`[^`\n]+`", re.MULTILINE | re.DOTALL)
needs_tools = pytest.mark.skipif(
    not all(map(importlib.util.find_spec, ("mkdocs", "material", "latex2mathml"))), reason="make docs installs them"
)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    built = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    return folder


@needs_tools
def test_reading_the_site_asks_for_nothing_from_outside(site: Path) -> None:
    for page in site.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        loaded = re.findall(r"<(?:script|img|iframe|source)\b[^>]*\bsrc=\"?([^\s\">]+)", text)
        loaded += re.findall(r"<link\b(?![^>]*canonical)[^>]*\bhref=\"?([^\s\">]+)", text)
        assert [address for address in loaded if re.match(r"(https?:)?//", address)] == [], page.name


@needs_tools
def test_every_equation_is_drawn_by_the_browser_alone(site: Path) -> None:
    for name in ("importance", "pruning", "fiak", "adding-a-method"):
        written = CODE.sub("", (DOCS / f"{name}.md").read_text(encoding="utf-8"))
        text = (site / f"{name}.html").read_text(encoding="utf-8")
        assert text.count("<math ") == len(EQUATION.findall(written)) > 0, name
        assert "arithmatex" not in text
        assert "<merror" not in text


@needs_tools
def test_what_a_document_links_to_outside_of_docs_comes_along(site: Path) -> None:
    linked = {file for path in DOCS.rglob("*.md") for file in docs_site._outside(path)}
    for file in linked:
        place = site / docs_site._place(file)
        assert (place.with_suffix(".html") if file.suffix == ".md" else place).is_file(), file


def test_every_document_is_in_the_navigation() -> None:
    config = docs_site.on_config({"nav": [{"Home": "index.md"}, {"Methods": ["importance.md"]}]})
    named = list(docs_site._leaves(config["nav"]))
    assert sorted(named) == sorted(path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md"))
    assert named[:2] == ["index.md", "importance.md"]


def test_links_that_leave_the_documents_are_moved_and_no_others() -> None:
    class Page:
        class file:  # noqa: N801 - as MkDocs has it
            src_uri = "cli.md"

    text = (
        "[a](../LICENSE) [b](models.md#x) [c](https://example.org) ![d](images/model.png)\n```\n[e](../LICENSE)\n```\n"
    )
    assert docs_site.on_page_markdown(text, Page) == text.replace("[a](../LICENSE)", "[a](project/LICENSE)")
    Page.file.src_uri = "project/README.md"
    moved = docs_site.on_page_markdown("![x](docs/images/model.png) [y](LICENSE) [z](docs/cli.md#ablate)", Page)
    assert moved == "![x](../images/model.png) [y](LICENSE) [z](../cli.md#ablate)"


def test_a_warning_fails_the_build() -> None:
    """`--quiet` would hide warnings from `--strict` as well."""
    (recipe,) = re.findall(r"^\t.*/(mkdocs .*)$", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    assert recipe == "mkdocs build --strict"


def test_nothing_in_the_settings_names_a_server() -> None:
    settings = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    assert "font: false" in settings
    assert re.findall(r"https?://", settings) == []
