"""What people read on a page, of the Markdown that Streamlit is given."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from headscope.web.page.markdown import JOINER


def read(markdown: str) -> str:
    """The text without the backslashes that keep it text, and without joints that nobody sees."""
    return re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", markdown).replace(JOINER, "")


def read_all(messages: Iterable[Any]) -> list[str]:
    """What the messages of a page say."""
    return [read(message.value) for message in messages]
