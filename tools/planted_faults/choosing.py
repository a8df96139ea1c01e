"""The tests that cover a fault, nearest and shortest first."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from tools.planted_faults.covering import entries
from tools.planted_faults.faults import Fault
from tools.planted_faults.probes import SIMPLE, Function
from tools.planted_faults.sources import REPOSITORY, modules, state

Line = tuple[str, int]


@dataclass(frozen=True)
class Test:
    """A test that passes without a fault, and the lines it reaches."""

    __test__ = False  # pytest would collect it

    name: str
    seconds: float
    reached: frozenset[int]

    @property
    def path(self) -> str:
        """Its file."""
        return self.name.split("::")[0]


class Map:
    """Which tests reach which line."""

    def __init__(self) -> None:
        self.lines: list[Line] = [(path, line) for path, line in json.loads((state() / "lines.json").read_text())]
        self.tests = [
            Test(test["name"], test["seconds"], frozenset(test["reached"]))
            for entry in entries()
            for test in entry["tests"]
            if test["passed"] and (REPOSITORY / entry["file"]).exists()
        ]

    @cached_property
    def numbers(self) -> dict[Line, int]:
        """The probe of each line."""
        return {line: number for number, line in enumerate(self.lines)}

    @cached_property
    def sources(self) -> dict[str, str]:
        """The text of every module."""
        return {str(path): (REPOSITORY / path).read_text() for path in modules()}

    @cached_property
    def texts(self) -> dict[str, str]:
        """The text of every test file."""
        return {path: (REPOSITORY / path).read_text() for path in {test.path for test in self.tests}}

    def covering(self, fault: Fault) -> list[Test]:
        """Every test that reaches the fault; for a constant outside functions, one that reaches a use of its name."""
        lines, names = reach(ast.parse(self.sources[fault.path]), fault.line)
        places = {(fault.path, line) for line in lines}
        if names:
            places |= set(self.uses(fault.path, names))
        wanted = {self.numbers[place] for place in places if place in self.numbers}
        named = re.compile(rf"\b({'|'.join(map(re.escape, names))})\b") if names else None
        mentions = {path for path, text in self.texts.items() if named and named.search(text)}
        found = [test for test in self.tests if test.reached & wanted or test.path in mentions]
        return sorted(found, key=lambda test: (distance(test.path, fault.path), test.seconds))

    def uses(self, path: str, names: set[str]) -> Iterator[Line]:
        """Lines of functions that mention one of the names, in this module and in those that import it."""
        module = path.removesuffix(".py").replace("/", ".")
        pattern = re.compile(rf"\b({'|'.join(map(re.escape, names))})\b")
        for other, text in self.sources.items():
            if other == path or module in text or " import ".join(module.rsplit(".", 1)) in text:
                for function in functions(ast.parse(text)):
                    if pattern.search(ast.get_source_segment(text, function) or ""):
                        yield from ((other, line) for line in simple_lines(function))


def distance(test: str, path: str) -> int:
    """0 for the test file named after the module, 1 for one in the folder of its name, 2 for any other."""
    if Path(test).stem.removeprefix("test_") in (Path(path).stem, Path(path).parent.name):
        return 0
    return 1 if Path(test).parts[1] in Path(path).parts else 2


def reach(tree: ast.Module, line: int) -> tuple[set[int], set[str]]:
    """Lines of functions that run whenever this one does; outside functions, the names that it binds instead."""
    block, inside = tree.body, False
    names: set[str] = set()
    around: ast.stmt | None = None
    while True:
        place, node = next(((at, one) for at, one in enumerate(block) if holds(one, line)), (-1, None))
        if node is None:
            return (simple_lines(around) if around else set()), names if not inside else set()
        if isinstance(node, SIMPLE):
            return ({node.lineno}, set()) if inside else (set(), names | bound(node))
        inner = next((body for body in bodies(node) if any(holds(one, line) for one in body)), None)
        if inner is None:
            if not inside:
                return simple_lines(node), names | bound(node)
            before = [one.lineno for one in block[max(place - 1, 0) : place] if isinstance(one, SIMPLE)]
            after = [line for one in block[place + 1 : place + 2] for line in simple_lines(one)]
            return simple_lines(node) | {*before, *after}, set()
        inside |= isinstance(node, Function)
        names = names | bound(node)
        block, around = inner, node


def holds(node: ast.stmt, line: int) -> bool:
    """Whether a statement, with its decorators, stands on the line."""
    first = min([node.lineno, *(one.lineno for one in getattr(node, "decorator_list", []))])
    return bool(first <= line <= (node.end_lineno or 0))


def bodies(node: ast.stmt) -> Iterator[list[ast.stmt]]:
    """The blocks of a compound statement."""
    for name in ("body", "orelse", "finalbody"):
        yield getattr(node, name, [])
    for part in (*getattr(node, "handlers", []), *getattr(node, "cases", [])):
        yield part.body


def bound(node: ast.stmt) -> set[str]:
    """The names that a statement outside functions defines."""
    if isinstance(node, Function | ast.ClassDef):
        return {node.name}
    names = [one for one in ast.walk(node) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)]
    return {one.id for one in names}


def simple_lines(node: ast.AST) -> set[int]:
    """Lines of the simple statements of functions in it."""
    return {one.lineno for one in ast.walk(node) if isinstance(one, SIMPLE)}


def functions(tree: ast.Module) -> Iterator[ast.stmt]:
    """The outermost functions and methods."""
    for node in tree.body:
        for one in [node, *(node.body if isinstance(node, ast.ClassDef) else [])]:
            if isinstance(one, Function):
                yield one
