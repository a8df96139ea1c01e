"""How much longer a tokenizer may make what it reads, found out without letting it: one that never ends is of no use.

A file of a tokenizer may replace a letter by ten, each of these by ten again, and so on.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

FILE = "tokenizer.json"
MOST = 100
"""Letters that one may become, letters put before a text, and tokens around it. Real tokenizers write a fraction as
three letters or a sign as a word, and put three tokens around a text."""


def grows_without_bound(folder: Path) -> bool:
    """Whether the tokenizer of a folder replaces what it has replaced until it is longer than anything of use.

    A file that is none says no: whoever reads it says what is wrong.
    """
    try:
        told = json.loads((folder / FILE).read_bytes())
        grown = max(growth(list(_replacements(told.get(part)))) for part in ("normalizer", "decoder"))
        return max(grown, prepended(told.get("normalizer")), added(told.get("post_processor"))) > MOST
    except (OSError, ValueError, AttributeError, KeyError, TypeError, RecursionError):
        return False


def growth(replacements: list[tuple[str, str]]) -> int:
    """How many letters one match may become where these are done one after the other; more than MOST is not counted.

    A pattern that is no plain text is given as an empty one, which stands before and after every letter.
    """
    return max(
        (_length(content, replacements[place:]) for place, (_, content) in enumerate(replacements, 1)), default=1
    )


def prepended(part: Any) -> int:
    """How many letters a normalizer puts before a text."""
    return sum(len(one.get("prepend", "")) for one in _parts(part) if one["type"] == "Prepend")


def added(part: Any) -> int:
    """How many special tokens a post-processor puts around a text, or around a pair of them."""
    return sum(_added(one) for one in _parts(part) if one["type"] == "TemplateProcessing")


def _added(template: Any) -> int:
    special = {name: len(one["ids"]) for name, one in template["special_tokens"].items()}
    named = [
        [special[one["SpecialToken"]["id"]] for one in template[form] if "SpecialToken" in one]
        for form in ("single", "pair")
    ]
    return max(map(sum, named))


def _parts(part: Any) -> Iterator[Any]:
    """The parts of a part of a tokenizer, which is one itself where it is no sequence."""
    if not part:
        return
    if part["type"] != "Sequence":
        yield part
    for name in ("normalizers", "decoders", "processors"):
        for one in part.get(name) or ():
            yield from _parts(one)


def _length(text: str, replacements: list[tuple[str, str]]) -> int:
    for pattern, content in replacements:
        if len(text) > MOST:
            break
        text = text.replace(pattern, content[: MOST + 1])
    return len(text)


def _replacements(part: Any) -> Iterator[tuple[str, str]]:
    """What is replaced by what in a part of a tokenizer, in that order."""
    for one in _parts(part):
        if one["type"] == "Replace":
            pattern, content = one["pattern"], one["content"]
            if "String" in pattern:
                yield pattern["String"], content
            elif not _shortens(pattern["Regex"], content):
                yield "", content


def _shortens(pattern: str, content: str) -> bool:
    """Whether an expression surely puts no more letters than it takes: at most one, for a match of one or more.

    The expression only meets the empty text, at which none can lose itself.
    """
    try:
        takes_some = re.compile(pattern).match("") is None and not re.search(r"\(\?|\\[bBAzZG]|[\^$]", pattern)
    except (re.error, OverflowError):
        takes_some = False
    return takes_some and len(content) <= 1
