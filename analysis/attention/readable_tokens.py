"""Tokens as people read them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

BLANK = "␣"
SIGNS = str.maketrans({"\n": "↵", "\t": "⇥", "\r": "↵"})
UNREADABLE = "\N{REPLACEMENT CHARACTER}"


def readable(tokenizer: Any, ids: Sequence[int]) -> tuple[str, ...]:
    """A short visible text for every token: no marks of word pieces, special tokens by their name, blanks as signs."""
    special = set(tokenizer.all_special_ids)
    names = tokenizer.convert_ids_to_tokens(list(ids))
    texts = tokenizer.batch_decode([[number] for number in ids])
    in_pieces = _has_word_pieces(tokenizer)
    return tuple(
        name if number in special else _visible(text.removeprefix("##") if in_pieces else text)
        for number, name, text in zip(ids, names, texts, strict=True)
    )


def _has_word_pieces(tokenizer: Any) -> bool:
    """Whether ## marks a piece that goes on with a word; elsewhere it is itself."""
    backend = getattr(tokenizer, "backend_tokenizer", None)
    return type(getattr(backend, "model", None)).__name__ == "WordPiece"


def _visible(text: str) -> str:
    signs = text.strip(" ").translate(SIGNS)
    return "".join(sign if sign.isprintable() else UNREADABLE for sign in signs) or BLANK
