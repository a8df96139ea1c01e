"""Valid files, masks and links, and seeded ways to break them; and what may come of a broken one."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable, Iterator

N_FILES, N_KEPT, N_MASKS, N_LINKS = 1350, 150, 550, 110
"""Broken files of each kind that are read, and that are kept; broken masks of each kind, and links a parameter."""

LONGEST_SENTENCE = 1000
SLOWEST_SECONDS = 5.0

TREE = (
    "# sent_id = 1\n# text = Die Vögel singen im Wald\n"
    "1\tDie\tdie\tDET\t_\t_\t2\tdet\t_\t_\n"
    "2\tVögel\tVogel\tNOUN\t_\t_\t3\tnsubj\t_\t_\n"
    "3\tsingen\tsingen\tVERB\t_\t_\t0\troot\t_\t_\n"
    "4-5\tim\t_\t_\t_\t_\t_\t_\t_\t_\n"
    "4\tin\tin\tADP\t_\t_\t6\tcase\t_\t_\n"
    "5\tdem\tder\tDET\t_\t_\t6\tdet\t_\t_\n"
    "6\tWald\tWald\tNOUN\t_\t_\t3\tobl\t_\t_\n"
    "6.1\tleer\t_\t_\t_\t_\t_\t_\t_\t_\n\n"
)
ROWS = [("A bird sings.", "1"), ('She said "no", twice.', "0"), ("zwei\nZeilen", "1"), ("数える <b>five</b>", "yes")]
FILES = {
    ".csv": ("text,label\n" + "".join('"{}",{}\n'.format(text.replace('"', '""'), label) for text, label in ROWS)),
    ".tsv": "text\tlabel\n" + "".join(f"{' '.join(text.split())}\t{label}\n" for text, label in ROWS),
    ".jsonl": "".join(json.dumps({"text": text, "label": label, "n": [1, {"a": None}]}) + "\n" for text, label in ROWS),
    ".conllu": TREE * 3,
    ".txt": "A plain text.\n\nWith three parts.\n\nAnd no more.\n",
}

HOSTILE = (
    b"\0", b"\xff\xfe", b"\xfe\xff\0a", b"\xef\xbb\xbf", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xc0\x80", b"\x80",
    b"\xe2\x80\xa8", b"\x85", b"\x1b[31m", b"\r", b"\r\n", b"\n\n\n", b"\x0b\x0c", b'"', b'""', b"'", b",", b"\t",
    b"\\", b"\\u0000", b"\\ud800", b"\\u", b"{", b"[" * 3000, b'{"a":' * 400, b"}" * 50, b"1e999999",
    b"-Infinity", b"NaN", b"9" * 5000, b"-" * 99, b"%s%n%x", b"$(id)", b"<script>alert(1)</script>", b"../" * 20,
    b"x" * 2000, b"\xf0\x9f\x92\xa9" * 50, "\u202e\u2066\u200b".encode(), b"1-2", b"0.1", b"99999999999", b"_",
    b"x" * 120_000,
)  # fmt: skip
NAMES = (
    "rows", "../../etc/passwd", "..\\..\\boot", "/abs/olute", "C:\\evil", "a\0b", "a\nb", "con", "~root", ".", "..", "",
    " ", "-rf", "%2e%2e%2f", "x" * 300, "\u202egpj", "é" * 200, "a/b/c", "file://x", "\ud800", "<b>x</b>", "a;b|c",
)  # fmt: skip
ENCODINGS = ("utf-16", "utf-16-le", "utf-32", "latin-1", "cp1252", "utf-7", "shift_jis", "cp037")


def sentence_of(call: Callable[[], object]) -> str:
    """What `call` refused its input with, which must be one sentence of our own, soon; empty if it gave a result."""
    started = time.process_time()
    told = ""
    try:
        call()
    except (ValueError, KeyError) as error:
        assert type(error) in (ValueError, KeyError), f"{type(error).__name__}: {error}"
        (told,) = error.args
        check_sentence(told)
    assert time.process_time() - started < SLOWEST_SECONDS
    return told


def check_sentence(told: object) -> None:
    """One line that a page and a terminal can show."""
    assert isinstance(told, str)
    assert told.strip()
    assert told.isprintable(), repr(told[:300])
    assert len(told) <= LONGEST_SENTENCE, f"{len(told)} characters: {told[:200]}"


def broken_files(suffix: str, seed: int, n: int) -> Iterator[tuple[str, bytes]]:
    """So many names and contents, all different ways from a valid file of that kind."""
    draw = random.Random(f"{suffix} {seed}")
    for _ in range(n):
        content = FILES[suffix].encode()
        for _ in range(draw.choice((1, 1, 1, 2, 3, 6))):
            content = draw.choice(MUTATIONS)(content, draw)
        stem = draw.choice(NAMES) if draw.random() < 0.2 else "rows"
        yield (
            stem + (draw.choice((suffix.upper(), "", ".exe", suffix + "\n")) if draw.random() < 0.05 else suffix),
            content,
        )


def broken_texts(valid: list[str], seed: int, n: int) -> Iterator[str]:
    """So many texts, all different ways from one of the valid ones."""
    draw = random.Random(seed)
    for _ in range(n):
        if draw.random() < 0.1:
            yield draw.choice(NAMES)
            continue
        content = draw.choice(valid).encode()
        for _ in range(draw.choice((1, 1, 2, 4))):
            content = draw.choice(MUTATIONS)(content, draw)
        yield content.decode("utf-8", draw.choice(("replace", "surrogateescape", "ignore")))


def _cut(content: bytes, draw: random.Random) -> bytes:
    return content[: draw.randrange(len(content) + 1)]


def _cut_out(content: bytes, draw: random.Random) -> bytes:
    start, stop = sorted(draw.randrange(len(content) + 1) for _ in range(2))
    return content[:start] + content[stop:]


def _twice(content: bytes, draw: random.Random) -> bytes:
    start, stop = sorted(draw.randrange(len(content) + 1) for _ in range(2))
    return content[:stop] + content[start:]


def _flipped(content: bytes, draw: random.Random) -> bytes:
    changed = bytearray(content)
    for _ in range(draw.choice((1, 1, 3, 20)) if changed else 0):
        changed[draw.randrange(len(changed))] ^= 1 << draw.randrange(8)
    return bytes(changed)


def _inserted(content: bytes, draw: random.Random) -> bytes:
    place = draw.choice((0, len(content), draw.randrange(len(content) + 1)))
    return content[:place] + draw.choice(HOSTILE[:-1] if draw.random() < 0.98 else HOSTILE) + content[place:]


def _replaced(content: bytes, draw: random.Random) -> bytes:
    if not content:
        return content
    wanted = content[draw.randrange(len(content))]
    return content.replace(bytes([wanted]), draw.choice(HOSTILE[:24]), draw.choice((1, 3, -1)))


def _shuffled(content: bytes, draw: random.Random) -> bytes:
    lines = content.split(b"\n")
    draw.shuffle(lines)
    return draw.choice((b"\n", b"\r", b"\r\n", b"\t", b"")).join(lines)


def _encoded(content: bytes, draw: random.Random) -> bytes:
    return content.decode("utf-8", "replace").encode(draw.choice(ENCODINGS), "replace")


def _noise(content: bytes, draw: random.Random) -> bytes:
    return draw.randbytes(draw.randrange(200)) + content[: draw.randrange(20)]


MUTATIONS = (_cut, _cut_out, _twice, _flipped, _flipped, _inserted, _inserted, _replaced, _shuffled, _encoded, _noise)
