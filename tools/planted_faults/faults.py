"""The faults that a source can be given: five kinds, each a replaced piece of text."""

from __future__ import annotations

import ast
import hashlib
import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from tools.planted_faults.probes import Function, is_text

Piece = tuple[ast.AST, int, int, str]  # the node, where its text to replace begins and ends in bytes, the new text

FLIPPED = {
    **{ast.Lt: ("<", ">="), ast.GtE: (">=", "<"), ast.Gt: (">", "<="), ast.LtE: ("<=", ">")},
    **{ast.Eq: ("==", "!="), ast.NotEq: ("!=", "=="), ast.Is: ("is", "is not"), ast.IsNot: (r"is\s+not", "is")},
    **{ast.In: ("in", "not in"), ast.NotIn: (r"not\s+in", "in")},
}
DROPPED = (ast.Return, ast.Delete, ast.Assign, ast.AugAssign, ast.Raise, ast.Expr, ast.Break, ast.Continue)
SYMMETRIC = {"max", "min", "gcd", "isdisjoint", "allclose", "isclose", "maximum", "minimum", "logaddexp"}


@dataclass(frozen=True)
class Fault:
    """One piece of text replaced; `function` is "" for what stands outside all functions."""

    path: str
    kind: str
    function: str
    line: int
    column: int
    code: str
    old: str
    new: str
    start: int
    end: int

    @property
    def key(self) -> str:
        """Stays the same where lines move."""
        parts = (self.path, self.kind, self.function, self.code, str(self.column), self.new)
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:10]

    def planted(self, source: bytes) -> bytes:
        """The source with this fault."""
        return source[: self.start] + self.new.encode() + source[self.end :]


def faults(path: str, source: str) -> list[Fault]:
    """Every fault of a file; decorators, annotations and `strict=` of zip are left alone, for they only guard."""
    tree, text = ast.parse(source), Text(source)
    found = []
    skipped, scopes = set(guards(tree)), named_scopes(tree)
    for kind, pieces in KINDS.items():
        for node, start, end, new in pieces(tree, text):
            if node in skipped:
                continue
            line = bisect_right(text.starts, start)
            function = ".".join(name for first, last, name in scopes if first <= line <= last)
            code = text.lines[line - 1].decode().strip()
            column = start - text.starts[line - 1]
            found.append(Fault(path, kind, function, line, column, code, text.piece(start, end), new, start, end))
    return found


class Text:
    """Positions of nodes as offsets in the bytes of a source."""

    def __init__(self, source: str) -> None:
        self.source = source.encode()
        self.lines = self.source.splitlines(keepends=True)
        self.starts = [0]
        for line in self.lines:
            self.starts.append(self.starts[-1] + len(line))

    def span(self, node: ast.expr | ast.stmt | ast.keyword) -> tuple[int, int]:
        """Where a node begins and ends."""
        assert node.end_lineno is not None and node.end_col_offset is not None
        return self.starts[node.lineno - 1] + node.col_offset, self.starts[node.end_lineno - 1] + node.end_col_offset

    def piece(self, start: int, end: int) -> str:
        """The text between two offsets."""
        return self.source[start:end].decode()


def flipped_comparisons(tree: ast.AST, text: Text) -> Iterator[Piece]:
    """Each comparison turned into its contrary."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            for left, right, operator in zip([node.left, *node.comparators], node.comparators, node.ops, strict=False):
                start, end = text.span(left)[1], text.span(right)[0]
                old, new = FLIPPED[type(operator)]
                found = re.search(old, text.piece(start, end))
                if found:
                    yield node, start + found.start(), start + found.end(), new


def changed_constants(tree: ast.AST, text: Text) -> Iterator[Piece]:
    """An integer one greater, a number with a fraction doubled, a truth value turned round."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant):
            value = node.value
            if isinstance(value, bool):
                yield node, *text.span(node), str(not value)
            elif isinstance(value, int):
                yield node, *text.span(node), str(value + 1)
            elif isinstance(value, float):
                yield node, *text.span(node), repr(value * 2 if value else 1.0)


def dropped_lines(tree: ast.AST, text: Text) -> Iterator[Piece]:
    """A simple statement of a function left out, unless it undoes something."""
    undo = {id(node) for node in undoing(tree)}
    for function in ast.walk(tree):
        if isinstance(function, Function):
            for node in own_statements(function):
                if isinstance(node, DROPPED) and not is_text(node) and not is_yield(node) and id(node) not in undo:
                    yield node, *text.span(node), "pass"


def swapped_arguments(tree: ast.AST, text: Text) -> Iterator[Piece]:
    """Two neighbouring arguments of a call exchanged, both by position or both by name."""
    for call in ast.walk(tree):
        if isinstance(call, ast.Call) and name_of(call.func) not in SYMMETRIC:
            plain = [node for node in call.args if not isinstance(node, ast.Starred)]
            named = [word.value for word in call.keywords if word.arg is not None]
            pairs = [*pairwise(plain), *pairwise(named)]
            for one, two in pairs:
                (start, one_end), (two_start, end) = text.span(one), text.span(two)
                first, last = text.piece(start, one_end), text.piece(two_start, end)
                if first != last:
                    yield call, start, end, last + text.piece(one_end, two_start) + first


def removed_undos(tree: ast.AST, text: Text) -> Iterator[Piece]:
    """A statement left out of what undoes.

    That is a `finally`, a handler that raises again, an `__exit__`, or what follows the `yield` of a context manager.
    """
    for node in undoing(tree):
        if isinstance(node, DROPPED) and not is_yield(node):
            yield node, *text.span(node), "pass"


KINDS = {
    "comparison": flipped_comparisons,
    "constant": changed_constants,
    "dropped": dropped_lines,
    "swapped": swapped_arguments,
    "undo": removed_undos,
}


def undoing(tree: ast.AST) -> list[ast.stmt]:
    """The simple statements that put something back."""
    found: list[ast.stmt] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Try):
            found += simple(node.finalbody)
        elif isinstance(node, ast.ExceptHandler) and isinstance(node.body[-1], ast.Raise) and node.body[-1].exc is None:
            found += simple(node.body[:-1])
        elif isinstance(node, Function) and node.name == "__exit__":
            found += simple(node.body)
        elif isinstance(node, Function) and any("contextmanager" in ast.unparse(one) for one in node.decorator_list):
            after = [place for place, one in enumerate(node.body) if any(is_yield(part) for part in ast.walk(one))]
            found += simple(node.body[after[-1] + 1 :]) if after else []
    return list({id(node): node for node in found}.values())


def simple(body: list[ast.stmt]) -> list[ast.stmt]:
    """The simple statements in a body, at any depth."""
    return [node for one in body for node in ast.walk(one) if isinstance(node, DROPPED)]


def own_statements(function: ast.AST) -> Iterator[ast.stmt]:
    """Statements of a function without those of functions inside it."""
    for child in ast.iter_child_nodes(function):
        if isinstance(child, ast.stmt):
            yield child
        if not isinstance(child, Function):
            yield from own_statements(child)


def is_yield(node: ast.AST) -> bool:
    """Whether the statement yields."""
    return isinstance(node, ast.Expr | ast.Assign) and isinstance(node.value, ast.Yield | ast.YieldFrom)


def guards(tree: ast.AST) -> Iterator[ast.AST]:
    """What no result hangs on: decorators, annotations, `strict=` of zip."""
    for node in ast.walk(tree):
        parts: list[ast.AST | None] = []
        if isinstance(node, Function | ast.ClassDef):
            parts += node.decorator_list
        if isinstance(node, Function):
            parts.append(node.returns)
        if isinstance(node, ast.arg | ast.AnnAssign):
            parts.append(node.annotation)
        if isinstance(node, ast.keyword) and node.arg == "strict":
            parts.append(node)
        for part in parts:
            if part is not None:
                yield from ast.walk(part)


def named_scopes(tree: ast.AST) -> list[tuple[int, int, str]]:
    """First and last line and name of every function and class, outer ones first."""
    nodes = [node for node in ast.walk(tree) if isinstance(node, Function | ast.ClassDef)]
    return [(node.lineno, node.end_lineno or 0, node.name) for node in nodes]


def name_of(node: ast.AST) -> str:
    """The last name of what is called."""
    return getattr(node, "attr", getattr(node, "id", ""))


def parses(source: bytes) -> bool:
    """Whether the source is Python still."""
    try:
        ast.parse(source)
    except SyntaxError:
        return False
    return True
