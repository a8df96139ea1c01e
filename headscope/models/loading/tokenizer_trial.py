"""A stranger's tokenizer is tried in a process with limits first: what takes all memory there ends nothing else.

What dies there, or does not end, is no tokenizer. Neither is what gives up, which would write lines of its own here.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

from headscope.models.loading.known_models import SPECIMENS_FOLDER
from headscope.models.loading.tokenizer_growth import FILE

MOST_BYTES = 2 * 2**30
"""Addresses that the process may use; it needs less memory than that by far."""

MOST_SECONDS = 20
"""Of one processor."""

PATIENCE = 120
"""Seconds of the clock, on a machine that is busy."""

TEXT = (
    "".join(map(chr, range(32, 127)))
    + " One text. äöüßéñçøåłş ½ … № — “” «» ₂ ﬁ 漢字 かな カナ 한글 русский العربية हिन्दी 😀"
)
MOST_TOKENS = 32 * len(TEXT)

_tried: dict[str, bool] = {}
"""What came of each content that this process has tried."""

CODE = """
import sys
path, text, most_bytes, most_seconds, most_tokens = sys.argv[1], sys.argv[2], *map(int, sys.argv[3:])
try:
    import resource
except ImportError:
    pass
else:
    for limit, most in (("AS", most_bytes), ("CPU", most_seconds), ("CORE", 0)):
        resource.setrlimit(getattr(resource, f"RLIMIT_{limit}"), (most, most))
from tokenizers import Tokenizer
tokenizer = Tokenizer.from_file(path)
tokenizer.no_padding()
tokenizer.no_truncation()
tokens = tokenizer.encode(text).ids
tokenizer.decode(tokens)
sys.exit(len(tokens) > most_tokens)
"""


def passes(folder: Path) -> bool:
    """Whether the tokenizer of a folder reads a text within the limits; one without such a file has none to try."""
    path = folder / FILE
    if not path.is_file() or path.resolve().is_relative_to(SPECIMENS_FOLDER):
        return True
    content = hashlib.sha256(path.read_bytes()).hexdigest()
    if content not in _tried:
        _tried[content] = _passes(path)
    return _tried[content]


def _passes(path: Path) -> bool:
    limits = map(str, (MOST_BYTES, MOST_SECONDS, MOST_TOKENS))
    # threads would each take addresses of their own, on a machine of many processors more than are allowed
    alone = {"TOKENIZERS_PARALLELISM": "false", "RAYON_NUM_THREADS": "1", "MALLOC_ARENA_MAX": "1"}
    try:
        tried = subprocess.run(
            [sys.executable, "-I", "-c", CODE, str(path), TEXT, *limits], env=os.environ | alone, timeout=PATIENCE,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return False
    return tried.returncode == 0
