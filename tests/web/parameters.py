"""The parameters of links, found in the code of the pages: read from the link by name, or bound to a widget."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]


def parameters() -> list[str]:
    """Every name that a page or a part of one takes from a link."""
    paths = [*(ROOT / "headscope" / "web").rglob("*.py"), *(ROOT / "pages").glob("*.py")]
    return sorted({name for path in paths for name in names_in(ast.parse(path.read_text(encoding="utf-8")))})


def names_in(module: ast.Module) -> Iterator[str]:
    """The names that one file reads; constants of the module count as what they say."""
    constants = {
        target.id: node.value.value
        for node in module.body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    links = {"st.query_params"} | {
        target.id
        for node in ast.walk(module)
        if isinstance(node, ast.Assign) and ast.unparse(node.value) == "st.query_params"
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for node in ast.walk(module):
        for given in _read_from(node, links):
            said = given.value if isinstance(given, ast.Constant) else constants.get(ast.unparse(given))
            if isinstance(said, str):
                yield said


def _read_from(node: ast.AST, links: set[str]) -> Iterator[ast.expr]:
    if isinstance(node, ast.Subscript) and ast.unparse(node.value) in links:
        yield node.slice
    elif isinstance(node, ast.Compare) and ast.unparse(node.comparators[0]) in links:
        yield node.left
    elif isinstance(node, ast.Call):
        if isinstance(node.func, ast.Attribute) and ast.unparse(node.func.value) in links and node.args:
            yield node.args[0]
        named = {one.arg: one.value for one in node.keywords}
        if "bind" in named and "key" in named:
            yield named["key"]
