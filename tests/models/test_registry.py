from __future__ import annotations

import sys
from pathlib import Path

import pytest

from headscope.models.registry import Registry


def test_files_of_the_package_register_themselves_before_the_first_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    package = tmp_path / "shapes"
    package.mkdir()
    (package / "__init__.py").write_text(
        "from headscope.models.registry import Registry\nknown = Registry('shape', 'shapes')\n"
    )
    for name in ("square", "circle"):
        code = f"import shapes\n\n@shapes.known.register\nclass Shape:\n    key = '{name}'\n"
        (package / f"{name}.py").write_text(code)
    known = __import__("shapes").known
    assert list(known.all()) == ["circle", "square"]
    assert known.get("square") is sys.modules["shapes.square"].Shape
    with pytest.raises(KeyError, match="no shape 'oval'; known: circle, square"):
        known.get("oval")


def test_another_attribute_may_be_the_key() -> None:
    known: Registry[object] = Registry("word", "headscope.models", key="name")

    @known.register
    class Word:
        name = "hello"

    assert known.get("hello") is Word
