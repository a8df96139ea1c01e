from pathlib import Path

from headscope.analysis.importance.method import methods

DOCUMENT = Path(__file__).parents[3] / "docs" / "importance.md"


def test_every_method_is_in_the_document() -> None:
    text = DOCUMENT.read_text(encoding="utf-8")
    assert len(methods()) > 10
    assert [key for key in methods() if f"`{key}`" not in text] == []
