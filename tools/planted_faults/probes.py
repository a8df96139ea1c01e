"""Marks statements of functions as they are reached, at the price of one stored byte."""

from __future__ import annotations

import ast
from collections.abc import Iterator

NAME = "__planted_hits__"
Function = ast.FunctionDef | ast.AsyncFunctionDef
SIMPLE = (
    *(ast.Return, ast.Delete, ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Raise, ast.Assert, ast.Import),
    *(ast.ImportFrom, ast.Expr, ast.Pass, ast.Break, ast.Continue),
)


def probed(source: str, first: int) -> tuple[bytes, list[int]]:
    """The source with a probe before every simple statement of a function, and the line of each, numbered from `first`.

    A probe stands on the line of its statement, so no line moves.
    """
    lines = source.encode().splitlines(keepends=True)
    places = sorted({(node.lineno, node.col_offset) for node in inside_functions(ast.parse(source))})
    for number, (line, column) in reversed(list(enumerate(places, first))):
        text = lines[line - 1]
        lines[line - 1] = text[:column] + f"{NAME}[{number}] = 1; ".encode() + text[column:]
    return b"".join(lines), [line for line, _ in places]


def inside_functions(tree: ast.AST) -> Iterator[ast.stmt]:
    """Simple statements in the body of a function, its docstring excepted."""
    for function in ast.walk(tree):
        if isinstance(function, Function):
            for node in ast.walk(function):
                if isinstance(node, SIMPLE) and not is_text(node):
                    yield node


def is_text(node: ast.AST) -> bool:
    """Whether the statement is a bare string, such as a docstring."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
