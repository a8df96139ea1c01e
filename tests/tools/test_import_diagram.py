"""The picture of the folders is that of the imports as they are."""

from pathlib import Path

from tools.import_diagram import LAYERS, PICTURE, direct, imports, picture, reached

FOUND = {"a": {"b", "c"}, "b": {"c"}, "c": set()}


def test_the_picture_in_the_documents_is_current() -> None:
    assert PICTURE.read_text(encoding="utf-8") == picture(imports())


def test_an_arrow_is_left_out_where_others_lead_there() -> None:
    assert direct("a", FOUND) == {"b"}
    assert reached("a", FOUND) == {"b", "c"}


def test_imports_are_found_in_every_form(tmp_path: Path) -> None:
    for layer in LAYERS:
        for name in layer:
            (tmp_path / "headscope" / name).mkdir(parents=True)
    (tmp_path / "headscope" / "web" / "one.py").write_text(
        "def f():\n    from headscope.runs import store\nimport headscope.models.heads\nfrom headscope import cli\n"
    )
    found = imports(tmp_path)
    assert found["web"] == {"runs", "models", "cli"}
    assert found["runs"] == set()
