"""What was seen, made up: attention of any size over any tokens."""

from __future__ import annotations

import numpy as np

from headscope.analysis.attention.attention_record import Answer, Seen, SeenBank, SeenLayer
from headscope.models.heads import HeadId

HOSTILE = (
    "</script><script>hacked=1</script>",
    "<script>hacked=1",
    "<img src=x onerror=hacked=1>",
    "<!--<script>",
    "${hacked=1}",
    "';hacked=1;//",
    '");hacked=1;("',
    "`+(hacked=1)+`",
    "]]>&lt;b&gt;",
    "\\u003cb\\",
    "\u2028hacked=1",
    "*/hacked=1;/*",
)
"""Tokens that would run or break something wherever they were taken for code."""


def made_up(n_layers: int, n_heads: int, tokens: tuple[str, ...], removed: frozenset[HeadId] = frozenset()) -> Seen:
    """A bank of encoder heads with random attention."""
    random = np.random.default_rng(0)
    layers = tuple(
        SeenLayer(
            tuple(range(n_heads)),
            random.dirichlet(np.full(len(tokens), 0.3), (n_heads, len(tokens))).astype(np.float32),
        )
        for _ in range(n_layers)
    )
    bank = SeenBank("encoder", tokens, tokens, (n_heads,) * n_layers, layers)
    return Seen("made up", (bank,), removed, Answer("encoder"))
