"""The code blocks of a document."""

from __future__ import annotations

import re
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"
FENCE = re.compile(r"^```(\w+)[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(name: str, language: str) -> list[str]:
    """Those of one language in a document, from top to bottom."""
    return [code for written, code in FENCE.findall((DOCS / name).read_text(encoding="utf-8")) if written == language]
