"""Plain values that name the heads of a transformer."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from headscope.models.text import shown

BANKS = ("encoder", "decoder", "cross")
_ADDRESS = re.compile(r"(encoder|decoder|cross)\.(\d{1,6})\.(\d{1,6})")


@dataclass(frozen=True, order=True, slots=True)
class HeadId:
    """The address of one head, an index of the unpruned model for ever; as text `encoder.3.7`."""

    bank: str
    layer: int
    head: int

    def __str__(self) -> str:
        return f"{self.bank}.{self.layer}.{self.head}"

    @classmethod
    def parse(cls, address: str) -> HeadId:
        """The head at an address such as `cross.5.1`."""
        match = _ADDRESS.fullmatch(address.strip())
        if match is None:
            raise ValueError(
                f"no head address {shown(address, 40)!r}; allowed is bank.layer.head, for example encoder.3.7"
            )
        return cls(match[1], int(match[2]), int(match[3]))


@dataclass(frozen=True, slots=True)
class LayerHeads:
    """The heads of one attention layer.

    `groups[head]` numbers the key/value head that query head shares with its neighbours (its own where nothing is
    shared); `calls` counts how often a forward pass runs this layer (more than once where layers share weights).
    """

    groups: tuple[int, ...]
    calls: int = 1

    @property
    def n_heads(self) -> int:
        """How many query heads the layer has."""
        return len(self.groups)


@dataclass(frozen=True, slots=True)
class HeadBank:
    """All layers of one kind of attention: encoder, decoder or cross."""

    bank: str
    layers: tuple[LayerHeads, ...]

    @property
    def n_heads(self) -> int:
        """How many heads the bank has."""
        return sum(layer.n_heads for layer in self.layers)


@dataclass(frozen=True)
class HeadGrid:
    """Every head of a model, bank after bank, layer after layer; this order is the order of gates and scores."""

    banks: tuple[HeadBank, ...]

    @cached_property
    def heads(self) -> tuple[HeadId, ...]:
        """All addresses in order."""
        return tuple(
            HeadId(bank.bank, layer, head)
            for bank in self.banks
            for layer, layer_heads in enumerate(bank.layers)
            for head in range(layer_heads.n_heads)
        )

    @cached_property
    def positions(self) -> dict[HeadId, int]:
        """Where each head stands in the order."""
        return {head: index for index, head in enumerate(self.heads)}

    def __len__(self) -> int:
        return len(self.heads)

    def __iter__(self) -> Iterator[HeadId]:
        return iter(self.heads)

    def __contains__(self, head: object) -> bool:
        return head in self.positions

    def bank(self, name: str) -> HeadBank:
        """The bank of that name."""
        for bank in self.banks:
            if bank.bank == name:
                return bank
        raise KeyError(f"no bank {shown(name, 40)!r}; this model has: {', '.join(bank.bank for bank in self.banks)}")

    def layer(self, bank: str, layer: int) -> tuple[HeadId, ...]:
        """The heads of one layer."""
        return tuple(HeadId(bank, layer, head) for head in range(self.bank(bank).layers[layer].n_heads))

    def check(self, head: HeadId) -> HeadId:
        """The same head, or a KeyError that says what this model has."""
        if head not in self.positions:
            raise KeyError(f"no head {head} in this model; it has {self.describe()}")
        return head

    def parse(self, addresses: str) -> frozenset[HeadId]:
        """The heads at addresses of this grid, separated by spaces or commas."""
        return frozenset(self.check(HeadId.parse(word)) for word in addresses.replace(",", " ").split())

    def spell(self, heads: Collection[HeadId]) -> str:
        """The addresses of heads in the order of the grid, separated by spaces; `parse` reads them."""
        return " ".join(str(head) for head in self.heads if head in heads)

    def to_json(self) -> list[dict[str, Any]]:
        """The grid as plain values."""
        return [
            {
                "bank": bank.bank,
                "layers": [{"groups": list(layer.groups), "calls": layer.calls} for layer in bank.layers],
            }
            for bank in self.banks
        ]

    @classmethod
    def from_json(cls, record: list[dict[str, Any]]) -> HeadGrid:
        """A grid that `to_json` wrote."""
        banks = (
            HeadBank(bank["bank"], tuple(LayerHeads(tuple(one["groups"]), one["calls"]) for one in bank["layers"]))
            for bank in record
        )
        return cls(tuple(banks))

    def describe(self) -> str:
        """One phrase, such as `encoder 6 x 8, decoder 6 x 8, cross 6 x 8`."""
        return ", ".join(f"{bank.bank} {len(bank.layers)} x {_head_counts(bank)}" for bank in self.banks)


def _head_counts(bank: HeadBank) -> str:
    counts = sorted({layer.n_heads for layer in bank.layers})
    return str(counts[0]) if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"


def grid_of_addresses(heads: Iterable[HeadId]) -> HeadGrid:
    """The smallest grid that holds the heads; sharing of keys and values is not known of them."""
    sizes: dict[str, dict[int, int]] = {}
    for head in heads:
        layers = sizes.setdefault(head.bank, {})
        layers[head.layer] = max(layers.get(head.layer, 0), head.head + 1)
    banks = (
        HeadBank(name, tuple(LayerHeads(tuple(range(own.get(layer, 0)))) for layer in range(max(own) + 1)))
        for name, own in sorted(sizes.items(), key=lambda item: BANKS.index(item[0]))
    )
    return HeadGrid(tuple(banks))
