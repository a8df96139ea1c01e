"""Which word of a text each piece of a tokenizer belongs to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

NO_WORD = -1
"""The owner of a special token."""

MARKS = ("▁", "##", "Ġ", "</w>", "@@")
"""How tokenizers without offsets mark the beginning or the going on of a word."""

Span = tuple[int, int]


def readable_text(text: str, words: Sequence[str]) -> str:
    """The text if its words can be found in it one after another, else the words with blanks between them.

    In a treebank a written word may be several words of the tree, whose forms are then not in the text.
    """
    return text if word_spans(text, words) is not None else " ".join(words)


def word_spans(text: str, words: Sequence[str]) -> list[Span] | None:
    """Where each word stands in the text, upper and lower case being the same; None if one is not there."""
    lowered, place, spans = text.lower(), 0, []
    if len(lowered) != len(text):
        return None
    for word in words:
        start = lowered.find(word.lower(), place)
        if start < 0 or len(word.lower()) != len(word):
            return None
        place = start + len(word)
        spans.append((start, place))
    return spans


def owners_of(text: str, words: Sequence[str], pieces: Sequence[Span]) -> list[int]:
    """For each piece, given by where it stands in the text, the number of its word.

    A piece belongs to the word of its first letter, a piece of blanks alone to the next word. What is between two
    words belongs to the first of them, or to the second at the start of a text.
    """
    spans = word_spans(text, words)
    if spans is None:
        raise ValueError(f"the words {' '.join(words)!r} are not those of {text!r}; allowed is a text made of them")
    owners = []
    for start, stop in pieces:
        blank = len(text[start:stop]) - len(text[start:stop].lstrip())
        letter = start + blank
        while letter < len(text) and text[letter].isspace():
            letter += 1
        owners.append(max(0, sum(begin <= letter for begin, _ in spans) - 1))
    return owners


def piece_spans(tokenizer: Any, text: str, tokens: Sequence[int]) -> list[Span]:
    """Where each of the ordinary tokens of a text stands in it."""
    if tokenizer.is_fast:
        encoded = tokenizer(text, return_offsets_mapping=True, add_special_tokens=False, verbose=False)
        if list(encoded.input_ids[: len(tokens)]) == list(tokens):
            return [(start, stop) for start, stop in encoded.offset_mapping[: len(tokens)]]
    return _found_spans(text, [_surface(tokenizer, name) for name in tokenizer.convert_ids_to_tokens(list(tokens))])


def _surface(tokenizer: Any, name: str) -> str:
    """The letters of a token; none for the unknown token."""
    if name == tokenizer.unk_token:
        return ""
    for mark in MARKS:
        name = name.replace(mark, "")
    return name


def _found_spans(text: str, surfaces: Sequence[str]) -> list[Span]:
    """Each surface where it comes next in the text; one that does not come stands at the next letter."""
    place, spans = 0, []
    for surface in surfaces:
        while place < len(text) and text[place].isspace():
            place += 1
        start = text.lower().find(surface.lower(), place) if surface else -1
        if start < 0:
            spans.append((place, min(place + 1, len(text))))
            continue
        place = start + len(surface)
        spans.append((start, place))
    return spans
