"""Foreign text where Streamlit reads Markdown: in messages, captions, progress bars and on buttons."""

from __future__ import annotations

import re

JOINER = "\N{WORD JOINER}"
"""Has no width and forbids nothing but a match."""

READ_LATER = re.compile(r":(?=//|material/|streamlit:)|www(?=\.)|@", re.IGNORECASE)
"""Where addresses and icons begin, which Streamlit looks for after it has taken the backslashes away."""

PUNCTUATION = re.compile(r"[!-/:-@\[-`{-~]")


def plain(text: str) -> str:
    """Markdown that shows the text as it is, on one line: no link, image, formula, icon or colour comes of it."""
    line = READ_LATER.sub(rf"\g<0>{JOINER}", " ".join(text.split()))
    return PUNCTUATION.sub(r"\\\g<0>", line)
