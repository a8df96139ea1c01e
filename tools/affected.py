"""python -m tools.affected: runs the tests that a change can reach by imports; `make quick` calls it.

What changed is what differs from the last commit, or from the commit that is named. A file depends on what it imports
and on what its strings name: a file ("pages/roles.py"), a package ("headscope.analysis.importance") or a page
("/roles?model="). A test also depends on the conftest.py of each folder around it. Browser tests open the whole app, so
they run only where their own files or the pages they open have changed.
"""

from __future__ import annotations

import argparse
import ast
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

ROOT = Path(__file__).parents[1]
LINKED = ("analysis", "pruning", "pages")
"""Folders that are imported as parts of headscope."""

ALWAYS = "tests/test_project.py"
"""Checks rules that hold for every file."""

BROWSER = "tests/browser/"
OPENED = ("pages/", "tests/")
"""Changes here, one step away, run a browser test."""

PAGE = re.compile(r"/(\w+)")
MOST_AT_ONCE = 3
"""So many test files run in one process, more in two."""

Graph = Mapping[str, set[str]]


def main() -> int:
    """Runs the tests; the exit code is that of pytest."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("commit", nargs="?", default="HEAD", help="what the files are compared with")
    parser.add_argument("--list", action="store_true", help="print the tests instead of running them")
    arguments = parser.parse_args()
    changed = changed_files(arguments.commit)
    tests = affected(dependencies(tracked_files()), changed)
    print(f"{len(changed)} files changed; {len(tests)} files of tests can be reached from them by imports", flush=True)
    if arguments.list:
        print("\n".join(tests))
        return 0
    workers = "0" if len(tests) <= MOST_AT_ONCE else "2"
    command = ["pytest", "--quiet", "--durations=5", "--numprocesses", workers, *tests]
    return subprocess.call([sys.executable, "-m", *command], cwd=ROOT)


def affected(graph: Graph, changed: Iterable[str]) -> list[str]:
    """The files of tests that depend on a changed file, the nearest first."""
    wanted = set(changed)
    tests = [file for file in graph if file.startswith("tests/") and Path(file).name.startswith("test_")]
    found = {test: _distance(_near(graph, test) if test.startswith(BROWSER) else graph, test, wanted) for test in tests}
    reached = {test: steps for test, steps in found.items() if steps is not None} | {ALWAYS: 0}
    return sorted(reached, key=lambda test: (reached[test], test))


def dependencies(files: Iterable[str]) -> dict[str, set[str]]:
    """What each Python file imports or names in a string."""
    every = list(files)
    modules = {_module(file): file for file in every if file.endswith(".py")}
    folders: dict[str, list[str]] = {}
    for file in every:
        folders.setdefault(_module(str(Path(file).parent)), []).append(file)
    named = {file: set(_named(file, modules, folders, set(every))) - {file} for file in modules.values()}
    return {file: others | _fixtures(file, named) for file, others in named.items()}


def changed_files(commit: str) -> set[str]:
    """Files that differ from the commit, and those that git does not know yet."""
    return {*_git("diff", "--name-only", commit), *_git("ls-files", "--others", "--exclude-standard")}


def tracked_files() -> list[str]:
    """Every file of the work tree that git knows or would add."""
    files = _git("ls-files", "--cached", "--others", "--exclude-standard")
    return [file for file in files if (ROOT / file).is_file()]


def _named(file: str, modules: Mapping[str, str], folders: Mapping[str, list[str]], files: set[str]) -> Iterator[str]:
    for node in ast.walk(ast.parse((ROOT / file).read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (modules[alias.name] for alias in node.names if alias.name in modules)
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
            yield from (modules[name] for name in names if name in modules)
            if node.module in modules and not all(name in modules for name in names):
                yield modules[node.module]
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield from _named_by_text(node.value, modules, folders, files)


def _named_by_text(
    text: str, modules: Mapping[str, str], folders: Mapping[str, list[str]], files: set[str]
) -> Iterator[str]:
    opened = PAGE.match(text)
    if text in files:
        yield text
    elif opened and f"pages/{opened[1]}.py" in files:
        yield f"pages/{opened[1]}.py"
    elif text in modules and "." in text:
        yield modules[text]
        yield from folders.get(text, ())


def _fixtures(file: str, files: Iterable[str]) -> set[str]:
    """The conftest.py of each folder around a file of tests: pytest loads them without an import."""
    if not file.startswith("tests/") or Path(file).name == "conftest.py":
        return set()
    return {str(folder / "conftest.py") for folder in Path(file).parents} & set(files)


def _distance(graph: Graph, start: str, wanted: set[str]) -> int | None:
    """How many steps lead from a file to the nearest one that is wanted, or None."""
    seen, layer, steps = {start}, {start}, 0
    while layer:
        if layer & wanted:
            return steps
        layer = {other for file in layer for other in graph.get(file, ())} - seen
        seen |= layer
        steps += 1
    return None


def _near(graph: Graph, test: str) -> Graph:
    """The part of the graph that counts for a browser test."""
    return {test: {file for file in graph[test] if file.startswith(OPENED)}}


def _module(file: str) -> str:
    name = file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    return f"headscope.{name}" if name.partition(".")[0] in LINKED else name


def _git(*arguments: str) -> list[str]:
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


if __name__ == "__main__":
    sys.exit(main())
