"""What was seen of one example: plain values that need neither a model nor torch."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float32
from numpy.typing import NDArray

from headscope.models.heads import HeadId

Maps = Float32[np.ndarray, "head query key"]


@dataclass(frozen=True)
class Guess:
    """A token or a label, and the probability that the model gives it."""

    text: str
    probability: float


@dataclass(frozen=True)
class Answer:
    """What a model says about an example.

    `kind` is one of headscope.tasks.model_kinds.KINDS. `text` is the answer in words: a translation, a label, how the
    text goes on, the text with its gaps filled; empty where the model gives only hidden states or has no gap to fill.
    `guesses` are the likeliest five of each choice (of the label, of the next token, of each gap; none for a
    translation), and `certainty` is the probability of each label or token that the text consists of.
    """

    kind: str
    text: str = ""
    guesses: tuple[tuple[Guess, ...], ...] = ()
    certainty: tuple[float, ...] = ()


@dataclass(frozen=True, eq=False)
class SeenLayer:
    """The attention of one layer, `maps` [head, query, key]; `heads` are the numbers of its rows.

    Heads that were removed for good have no row; a layer without heads, or one that did not run, has none at all.
    """

    heads: tuple[int, ...]
    maps: Maps


@dataclass(frozen=True, eq=False)
class SeenBank:
    """The attention of one bank; `n_heads` are the head counts of the unpruned layers.

    Queries of a decoder are the tokens it has read, not those it writes there: the first is the start token. A key
    named "persistent (64)" stands for so many learned keys before the text, and has their attention summed.
    """

    bank: str
    queries: tuple[str, ...]
    keys: tuple[str, ...]
    n_heads: tuple[int, ...]
    layers: tuple[SeenLayer, ...]

    def map_of(self, layer: int, head: int) -> NDArray[np.float32] | None:
        """The map [query, key] of one head; None if it is no longer in the model."""
        seen = self.layers[layer]
        return seen.maps[seen.heads.index(head)] if head in seen.heads else None


@dataclass(frozen=True, eq=False)
class Picture:
    """An image as the model sees it, from 0 (paper) to 1 (ink), and the grid of patches that are its tokens.

    `n_before` counts the tokens before the first patch; patch (row, column) is token n_before + row * columns + column.
    """

    pixels: Float32[np.ndarray, "height width"]
    rows: int
    columns: int
    n_before: int

    @property
    def has_class_token(self) -> bool:
        """Whether the first token is no patch but the class token."""
        return self.n_before > 0


@dataclass(frozen=True, eq=False)
class Seen:
    """One example in one model; `removed` are the heads switched off for it and those no longer in the model.

    A head that is switched off still has a map: what it would look at, though nobody listens. `pair_start` is the place
    of the first token of a second text.
    """

    model: str
    banks: tuple[SeenBank, ...]
    removed: frozenset[HeadId]
    answer: Answer
    picture: Picture | None = None
    pair_start: int | None = None

    def bank(self, name: str) -> SeenBank:
        """The bank of that name."""
        for bank in self.banks:
            if bank.bank == name:
                return bank
        raise KeyError(f"no bank {name!r}; this model has: {', '.join(bank.bank for bank in self.banks)}")
