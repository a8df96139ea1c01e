"""CoNLL-U: sentences with dependency trees, each checked to be a tree."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby

from headscope.tasks.readers.record import BrokenRow, Record, Records, flaw, quoted
from headscope.tasks.readers.source import Source

N_COLUMNS = 10
NUMBER = re.compile(r"[0-9]{1,7}")
RANGE = re.compile(r"([0-9]{1,7})-([0-9]{1,7})")
EMPTY_NODE = re.compile(r"[0-9]{1,7}\.[0-9]{1,7}")

Lines = list[tuple[int, str]]
"""Lines with their numbers in the file."""


@dataclass(frozen=True)
class TreeSentence:
    """A sentence of syntactic words; a head is the number of a word, counted from 1, or 0 for the root."""

    text: str
    words: tuple[str, ...]
    upos: tuple[str, ...]
    heads: tuple[int, ...]
    relations: tuple[str, ...]
    comments: tuple[str, ...]


@dataclass(frozen=True)
class Treebank:
    """The sentences that were read, and those that were skipped."""

    sentences: tuple[TreeSentence, ...]
    broken: tuple[BrokenRow, ...]


@dataclass(frozen=True)
class _Word:
    line: int
    form: str
    upos: str
    head: int
    relation: str


class _SentenceError(Exception):
    def __init__(self, line: int, reason: str) -> None:
        self.line, self.reason = line, reason


def read_trees(source: Source) -> Treebank:
    """Return the sentences of a CoNLL-U file, without the multiword ranges and empty nodes, which are in no tree."""
    if source.suffix != ".conllu":
        raise ValueError(f"{source.name} ends in {source.suffix!r}; trees are read from .conllu")
    rows = [_sentence_or_broken(source.name, lines) for lines in _blocks(source)]
    return Treebank(
        tuple(row for row in rows if isinstance(row, TreeSentence)),
        tuple(row for row in rows if isinstance(row, BrokenRow)),
    )


def conllu_records(source: Source) -> Records:
    """Return the sentences as rows; words, tags, heads and relations are joined by spaces."""
    columns = ("text", "words", "upos", "heads", "relations")
    return Records(columns, (_record(source.name, lines) for lines in _blocks(source)))


def _record(file: str, lines: Lines) -> Record | BrokenRow:
    sentence = _sentence_or_broken(file, lines)
    if isinstance(sentence, BrokenRow):
        return sentence
    joined = {
        "text": sentence.text,
        "words": " ".join(sentence.words),
        "upos": " ".join(sentence.upos),
        "heads": " ".join(map(str, sentence.heads)),
        "relations": " ".join(sentence.relations),
    }
    return Record(lines[0][0], joined)


def _blocks(source: Source) -> Iterator[Lines]:
    """Return an iterator over the runs of lines between blank lines."""
    numbered = enumerate(source.text().split("\n"), start=1)
    runs = groupby(numbered, key=lambda line: bool(line[1].strip()))
    return (list(lines) for filled, lines in runs if filled)


def _sentence_or_broken(file: str, lines: Lines) -> TreeSentence | BrokenRow:
    try:
        return _sentence(lines)
    except _SentenceError as error:
        return BrokenRow(file, error.line, error.reason)


def _sentence(lines: Lines) -> TreeSentence:
    for line, text in lines:
        if wrong := flaw([text]):
            raise _SentenceError(line, wrong)
    comments = tuple(text.removeprefix("#").strip() for _, text in lines if text.startswith("#"))
    words = _words([(line, text) for line, text in lines if not text.startswith("#")])
    if not words:
        raise _SentenceError(lines[0][0], "a sentence has no words")
    _check_tree(words)
    return TreeSentence(
        text=_stated_text(comments) or " ".join(word.form for word in words),
        words=tuple(word.form for word in words),
        upos=tuple(word.upos for word in words),
        heads=tuple(word.head for word in words),
        relations=tuple(word.relation for word in words),
        comments=comments,
    )


def _stated_text(comments: tuple[str, ...]) -> str:
    """Return what a comment "text = ..." says, or nothing."""
    pairs = (comment.partition("=") for comment in comments)
    return next((value.strip() for key, _, value in pairs if key.strip() == "text"), "")


def _words(lines: Lines) -> list[_Word]:
    words: list[_Word] = []
    last_covered, range_line = 0, 0
    for line, text in lines:
        fields = text.split("\t")
        if len(fields) != N_COLUMNS:
            raise _SentenceError(line, f"number of columns: {len(fields)} here, {N_COLUMNS} in CoNLL-U")
        if covered := RANGE.fullmatch(fields[0]):
            first, last_covered, range_line = int(covered[1]), int(covered[2]), line
            if first != len(words) + 1 or last_covered <= first:
                raise _SentenceError(line, f"the range {fields[0]} does not start at the next word, {len(words) + 1}")
        elif not EMPTY_NODE.fullmatch(fields[0]):
            words.append(_word(line, fields, expected=len(words) + 1))
    if last_covered > len(words):
        raise _SentenceError(range_line, f"a range ends at word {last_covered} of {len(words)}")
    return words


def _word(line: int, fields: list[str], expected: int) -> _Word:
    number, form, _, upos, _, _, head, relation, _, _ = fields
    if not NUMBER.fullmatch(number) or int(number) != expected:
        raise _SentenceError(line, f"word number {quoted(number)}; the next is {expected}")
    if not form.strip():
        raise _SentenceError(line, f"word {number} is empty")
    if not NUMBER.fullmatch(head):
        raise _SentenceError(line, f"head {quoted(head)} of word {number} is not a number")
    return _Word(line, form, upos, int(head), relation)


def _check_tree(words: list[_Word]) -> None:
    for word in words:
        if word.head > len(words):
            raise _SentenceError(
                word.line, f"head {word.head} of {quoted(word.form)} is not among the {len(words)} words"
            )
    roots = [word for word in words if word.head == 0]
    if not roots:
        raise _SentenceError(words[0].line, "a sentence has no root")
    if len(roots) > 1:
        raise _SentenceError(roots[1].line, f"a sentence has {len(roots)} roots; one is allowed")
    _check_no_cycle(words)


def _check_no_cycle(words: list[_Word]) -> None:
    """Climb from every word to the root, or to a word from which an earlier climb got there."""
    reaches_root = {0}
    for start in range(1, len(words) + 1):
        path: dict[int, None] = {}
        number = start
        while number not in reaches_root:
            if number in path:
                raise _SentenceError(words[number - 1].line, f"word {number} is above itself: the heads go in a circle")
            path[number] = None
            number = words[number - 1].head
        reaches_root.update(path)
