"""What a picture of attention shows: which layers and heads of a bank, and how much of it fits."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from headscope.analysis.attention.attention_record import Seen, SeenBank
from headscope.models.heads import HeadId

VIEWS = ("head", "model")
THEMES = ("light", "dark")
LINES_AT_ONCE = 160_000
"""Lines that a browser draws within a few seconds."""

NUMBERS_AT_MOST = 500_000
"""Weights that a document holds: about three megabytes."""

DECIMALS = 3


@dataclass(frozen=True)
class Drawing:
    """A picture of one bank: one layer at a time with its heads over each other, or every head in a cell of its own.

    `view` is "head" or "model", `theme` "light" or "dark"; without `layers` or `heads` all are shown that fit.
    `first` are the layer and the head with which the view "head" begins; without it, all heads of the first layer.
    """

    view: str
    bank: str
    theme: str = "light"
    layers: tuple[int, ...] | None = None
    heads: tuple[int, ...] | None = None
    first: tuple[int, int] | None = None

    def __post_init__(self) -> None:
        for given, allowed in ((self.view, VIEWS), (self.theme, THEMES)):
            if given not in allowed:
                raise ValueError(f"no {given!r}; allowed are {' and '.join(allowed)}")


@dataclass(frozen=True, eq=False)
class Content:
    """What is drawn: `weights` [layer, head, query, key] of these layers and heads, and which of them are removed.

    Removed heads weigh nothing. `note` says in a sentence what is left out.
    """

    layers: tuple[int, ...]
    heads: tuple[int, ...]
    queries: tuple[str, ...]
    keys: tuple[str, ...]
    weights: NDArray[np.float64]
    removed: tuple[tuple[int, int], ...]
    note: str

    @property
    def n_tokens(self) -> int:
        """The length of the longer side."""
        return max(len(self.queries), len(self.keys))


def content_of(seen: Seen, drawing: Drawing) -> Content:
    """The numbers behind a drawing, as many as fit, rounded."""
    bank = seen.bank(drawing.bank)
    layers, heads = _fitting(bank, drawing)
    weights = np.zeros((len(layers), len(heads), len(bank.queries), len(bank.keys)))
    removed = []
    for row, layer in enumerate(layers):
        for column, head in enumerate(heads):
            found = bank.map_of(layer, head)
            if found is None or HeadId(bank.bank, layer, head) in seen.removed:
                removed.append((layer, head))
            else:
                weights[row, column] = found.astype(np.float64).round(DECIMALS)
    note = _note("layer", layers, len(bank.layers)) + _note("head", heads, max(bank.n_heads))
    return Content(layers, heads, bank.queries, bank.keys, weights, tuple(removed), note.strip())


def _fitting(bank: SeenBank, drawing: Drawing) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The first of the chosen layers and heads, as many as fit; at least one of each."""
    layers = _chosen(drawing.layers, len(bank.layers), f"layer of the {bank.bank} bank")
    heads = _chosen(drawing.heads, max(bank.n_heads), f"head of the {bank.bank} bank")
    size = len(bank.queries) * len(bank.keys)
    heads = heads[: max(1, LINES_AT_ONCE // size)]
    room = NUMBERS_AT_MOST if drawing.view == "head" else LINES_AT_ONCE
    return layers[: max(1, room // (size * len(heads)))], heads


def _chosen(numbers: Iterable[int] | None, n: int, what: str) -> tuple[int, ...]:
    chosen = tuple(range(n)) if numbers is None else tuple(sorted(set(numbers)))
    wrong = [number for number in chosen if not 0 <= number < n]
    if wrong or not chosen:
        given = f"no {what} has the number {wrong[0]}" if wrong else f"no {what} chosen"
        raise ValueError(f"{given}; allowed are 0 to {n - 1}")
    return chosen


def _note(what: str, shown: tuple[int, ...], n: int) -> str:
    if len(shown) == n:
        return ""
    whole = shown == tuple(range(shown[0], shown[-1] + 1))
    named = f"{shown[0]} to {shown[-1]}" if whole and len(shown) > 1 else ", ".join(map(str, shown))
    return f"Shown: {what}{'s' * (len(shown) > 1)} {named} of {n}. "
