"""Checks what the documents promise: links and images lead somewhere, commands exist, no path of one machine.

And that they tell everything: every importance method of the registry stands in docs/importance.md.
"""

import json
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from urllib.parse import unquote

ROOT = Path(__file__).resolve().parent.parent
NAMED = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")
README_COMMANDS = ("make run", "make test")
METHODS = "docs/importance.md"

FENCE = re.compile(r"^ {0,3}(```+|~~~+)[ \t]*([\w+-]*)[^\n]*\n(.*?)(?:^ {0,3}\1[ \t]*$|\Z)", re.MULTILINE | re.DOTALL)
INLINE_CODE = re.compile(r"(`+)(?!`).+?(?<!`)\1(?!`)")
HEADING = re.compile(r"^ {0,3}#{1,6}[ \t]+(.+?)[ \t]*#*[ \t]*$", re.MULTILINE)
INLINE_LINK = re.compile(r"\]\(\s*<?([^)\s>]+)>?(?:\s+[\"'(][^)]*)?\)")
REFERENCE = re.compile(r"^ {0,3}\[[^\]]+\]:\s+<?([^\s>]+)", re.MULTILINE)
HTML_LINK = re.compile(r"<(?:a|img|source)\b[^>]*?\b(?:href|src)=[\"']([^\"']+)")
HTML_ANCHOR = re.compile(r"<[^>]+\b(?:id|name)=[\"']([^\"']+)")
ELSEWHERE = re.compile(r"^[a-z][a-z0-9+.-]*:|^//", re.IGNORECASE)
CLI_COMMAND = re.compile(r"(?:^|-m |=\S+ |[\'(])headscope[ \t]+([a-z][\w-]*)", re.MULTILINE)
MACHINE_PATH = re.compile(r"(?<![\w.~:/-])(?:/(?:home|Users|root|work|tmp|mnt|opt|var|usr)/|[A-Z]:\\)[^\s`)\"']*")


def main() -> int:
    """Prints every problem; 0 if there is none."""
    found = problems(ROOT)
    for problem in found:
        print(problem, file=sys.stderr)
    if not found:
        print(f"docs: {len(documents(ROOT))} documents, every link and command holds")
    return 1 if found else 0


def problems(root: Path) -> list[str]:
    """One line for each promise of the documents under `root` that does not hold."""
    missing = [f"{name}: missing" for name in NAMED if not (root / name).is_file()]
    found = [f"{path.relative_to(root)}: {problem}" for path in documents(root) for problem in _of_document(path, root)]
    known = _known_methods(root)
    untold = untold_methods(known, (root / METHODS).read_text(encoding="utf-8")) if known else []
    return missing + found + list(_unknown_commands(root)) + untold


def documents(root: Path) -> list[Path]:
    """The documents that are checked."""
    named = [root / name for name in NAMED if (root / name).is_file()]
    return named + sorted((root / "docs").rglob("*.md"))


def _of_document(path: Path, root: Path) -> Iterator[str]:
    text = path.read_text(encoding="utf-8")
    for target in _targets(text):
        problem = _broken(path, target, root)
        if problem:
            yield problem
    for match in MACHINE_PATH.finditer(text):
        yield f"{match.group()} is a path of one machine"
    if path == root / "README.md":
        yield from (f"does not show `{command}`" for command in README_COMMANDS if command not in _shell(text))


def _targets(text: str) -> list[str]:
    prose = _prose(text)
    return [match.group(1) for pattern in (INLINE_LINK, REFERENCE, HTML_LINK) for match in pattern.finditer(prose)]


def _prose(text: str) -> str:
    """The text without code, in which brackets and hashes mean something else."""
    return INLINE_CODE.sub("", FENCE.sub("", text))


def _shell(text: str) -> str:
    return "\n".join(match.group(3) for match in FENCE.finditer(text) if match.group(2) in ("bash", "sh", "shell"))


def _broken(path: Path, target: str, root: Path) -> str | None:
    """What is wrong with a link, if anything; addresses elsewhere are not followed."""
    if ELSEWHERE.match(target):
        return None
    name, _, anchor = unquote(target).partition("#")
    file = (path.parent / name).resolve() if name else path.resolve()
    if name.startswith("/") or not file.is_relative_to(root.resolve()):
        return f"link to {target} leaves the project"
    if not file.exists():
        return f"link to {target}, which does not exist"
    if anchor and file.suffix == ".md" and anchor not in _anchors(file.read_text(encoding="utf-8")):
        return f"link to {target}, but there is no such heading"
    return None


@cache
def _anchors(text: str) -> frozenset[str]:
    """The names that GitHub gives the headings of a document, and those it gives itself."""
    seen: dict[str, int] = {}
    anchors = {match.group(1) for match in HTML_ANCHOR.finditer(_prose(text))}
    for match in HEADING.finditer(FENCE.sub("", text)):
        shown = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", match.group(1))
        slug = re.sub(r"[^\w\- ]", "", shown.lower()).replace(" ", "-")
        anchors.add(f"{slug}-{seen[slug]}" if slug in seen else slug)
        seen[slug] = seen.get(slug, 0) + 1
    return frozenset(anchors)


def _unknown_commands(root: Path) -> Iterator[str]:
    """Sub-commands of the command line that the documents show and `--help` does not."""
    shown = [
        (path, match.group(1))
        for path in documents(root)
        for match in CLI_COMMAND.finditer(_shell(path.read_text(encoding="utf-8")))
    ]
    if not shown or not (root / "headscope").is_dir():
        return
    known = _known_commands(root)
    for path, command in shown:
        if command not in known:
            yield f"{path.relative_to(root)}: headscope {command} is unknown; known: {', '.join(sorted(known))}"


def untold_methods(known: Iterable[str], table: str) -> list[str]:
    """Importance methods that no row of the table in a document tells."""
    cells = re.findall(r"^\|([^|]*)\|", table, re.MULTILINE)
    told = {key for cell in cells for key in re.findall(r"`([^`]+)`", cell)}
    return [f"{METHODS}: no row of the table tells of the importance method {key}" for key in known if key not in told]


def _known_methods(root: Path) -> list[str]:
    """What the command line lists; nothing where there is none."""
    if not (root / "headscope").is_dir() or not (root / METHODS).is_file():
        return []
    command = [sys.executable, "-m", "headscope", "methods", "--json"]
    return list(json.loads(subprocess.run(command, cwd=root, capture_output=True, check=True).stdout)["methods"])


def _known_commands(root: Path) -> set[str]:
    """What argparse lists between braces, or one to a line where the sub-commands have a name of their own."""
    command = [sys.executable, "-m", "headscope", "--help"]
    shown = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True).stdout
    braces = re.search(r"\{([\w,-]+)\}", shown)
    listed = re.findall(r"^ {4}([a-z][\w-]*)(?: {2,}|$)", shown, re.MULTILINE)
    return {*listed, *(braces.group(1).split(",") if braces else ())}


if __name__ == "__main__":
    sys.exit(main())
