"""What MkDocs does to the documents beyond Markdown: equations without a network, and links that leave docs/.

A document that no entry of the navigation names is put under the name of its folder, or under More. A file of the
project that a document links to comes along; equations become MathML, which browsers draw by themselves.
"""

from __future__ import annotations

import html
import importlib
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
BESIDE = "project"
"""Where the site has files of the project that are no documents."""

FENCE = re.compile(r"^ {0,3}(```+|~~~+).*?^ {0,3}\1[ \t]*$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"(!?\[(?:[^\[\]]|\[[^\]]*\])*\]\()([^)\s]+)(\))")
ELSEWHERE = re.compile(r"^[a-z][a-z0-9+.-]*:|^#", re.IGNORECASE)
EQUATION = re.compile(r'<(span|div) class="arithmatex">\\([(\[])(.*?)\\[)\]]</\1>', re.DOTALL)


def on_config(config: Any) -> Any:
    """Names every document in the navigation."""
    named = set(_leaves(config["nav"]))
    rest = [path.relative_to(DOCS) for path in sorted(DOCS.rglob("*.md"))]
    sections: dict[str, list[str]] = {}
    for path in (path for path in rest if path.as_posix() not in named):
        section = path.parts[0].capitalize() if len(path.parts) > 1 else "More"
        sections.setdefault(section, []).append(path.as_posix())
    config["nav"] += [{section: names} for section, names in sections.items()]
    return config


def on_files(files: Any, config: Any) -> Any:
    """Adds the files of the project that documents link to, and those that these link to."""
    generated = importlib.import_module("mkdocs.structure.files").File.generated
    waiting = list(DOCS.rglob("*.md"))
    added: set[Path] = set()
    while waiting:
        path = waiting.pop()
        for target in set(_outside(path)) - added:
            added.add(target)
            files.append(generated(config, _place(target), content=target.read_bytes()))
            waiting += [target] if target.suffix == ".md" else []
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Links as the site has them."""
    source = Path(page.file.src_uri)
    path = ROOT / source.relative_to(BESIDE) if source.parts[0] == BESIDE else DOCS / source
    return _outside_code(markdown, lambda text: LINK.sub(lambda link: _moved(link, path, source), text))


def on_page_content(content: str, **_: Any) -> str:
    """Equations as MathML."""
    convert = importlib.import_module("latex2mathml.converter").convert

    def drawn(equation: re.Match[str]) -> str:
        return str(convert(html.unescape(equation[3]).strip(), display="block" if equation[2] == "[" else "inline"))

    return EQUATION.sub(drawn, content)


def _leaves(nav: Any) -> Iterator[str]:
    for entry in nav:
        if isinstance(entry, str):
            yield entry
        else:
            for value in entry.values():
                yield from (value,) if isinstance(value, str) else _leaves(value)


def _outside(path: Path) -> Iterator[Path]:
    """The files of the project, beyond docs/, that a document links to."""
    for _, target, _ in LINK.findall(FENCE.sub("", path.read_text(encoding="utf-8"))):
        file = _file(target, path)
        if file is not None and not file.is_relative_to(DOCS):
            yield file


def _file(target: str, path: Path) -> Path | None:
    """The file of the project that a link of a document means; None for any other link."""
    name = target.partition("#")[0]
    if ELSEWHERE.match(target) or not name:
        return None
    file = Path(os.path.normpath(path.parent / name))
    return file if file.is_file() and file.is_relative_to(ROOT) else None


def _place(file: Path) -> str:
    """Where the site has a file."""
    return (
        file.relative_to(DOCS).as_posix()
        if file.is_relative_to(DOCS)
        else f"{BESIDE}/{file.relative_to(ROOT).as_posix()}"
    )


def _moved(link: re.Match[str], path: Path, source: Path) -> str:
    file = _file(link[2], path)
    if file is None:
        return link[0]
    _, mark, anchor = link[2].partition("#")
    return f"{link[1]}{os.path.relpath(_place(file), source.parent).replace(os.sep, '/')}{mark}{anchor}{link[3]}"


def _outside_code(text: str, change: Any) -> str:
    """Changes what is no code block."""
    parts, end = [], 0
    for block in FENCE.finditer(text):
        parts += [change(text[end : block.start()]), block[0]]
        end = block.end()
    return "".join([*parts, change(text[end:])])
