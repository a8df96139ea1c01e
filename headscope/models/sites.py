"""Where the heads of a live model stand, and which weights feed them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor

from headscope.models.heads import BANKS, HeadBank, HeadGrid, LayerHeads


@dataclass(frozen=True)
class Site:
    """One attention layer: the module whose input holds its heads side by side, and the projections that feed them.

    All numbers are those of the unpruned model. `owners[path]` says which rows of the projection at `path` feed which
    head, as bool[head, row]; `kept` names the heads that are still there.
    """

    bank: str
    layer: int
    core: str
    output: str
    width: int
    kept: tuple[int, ...]
    owners: Mapping[str, Tensor] = field(compare=False)
    calls: int = 1

    @property
    def n_heads(self) -> int:
        """How many heads the unpruned layer has."""
        return next(iter(self.owners.values())).shape[0]

    @property
    def groups(self) -> tuple[int, ...]:
        """For each head of the unpruned layer the number of the key/value head it shares."""
        shared = torch.zeros(self.n_heads, self.n_heads, dtype=torch.bool)
        for owner in self.owners.values():
            shared |= (owner[:, None] & owner[None, :]).any(-1)
        first = [int(row.nonzero()[0]) for row in shared]
        return tuple(sorted(set(first)).index(head) for head in first)

    def without(self, removed: Iterable[int]) -> Site:
        """The same layer with fewer heads."""
        gone = set(removed)
        return replace(self, kept=tuple(head for head in self.kept if head not in gone))

    def to_json(self) -> dict[str, Any]:
        """All of it as plain numbers and text; rows are written as [first, last + 1].

        `kept` indexes the heads of `rows`, `numbers` are the numbers of the same heads in the unpruned model.
        """
        return {
            "bank": self.bank,
            "layer": self.layer,
            "core": self.core,
            "output": self.output,
            "width": self.width,
            "heads": self.n_heads,
            "kept": list(self.kept),
            "numbers": list(self.kept),
            "calls": self.calls,
            "groups": list(self.groups),
            "rows": {path: [_ranges(head) for head in owner] for path, owner in self.owners.items()},
            "sizes": {path: owner.shape[1] for path, owner in self.owners.items()},
        }

    @classmethod
    def from_json(cls, record: Mapping[str, Any]) -> Site:
        """What `to_json` wrote."""
        owners = {}
        for path, heads in record["rows"].items():
            owner = torch.zeros(record["heads"], record["sizes"][path], dtype=torch.bool)
            for head, ranges in enumerate(heads):
                for first, stop in ranges:
                    owner[head, first:stop] = True
            owners[path] = owner
        fields = {name: record[name] for name in ("bank", "layer", "core", "output", "width", "calls")}
        return cls(**fields, kept=tuple(record["kept"]), owners=owners)


def grid_of(sites: Iterable[Site]) -> HeadGrid:
    """The heads of the unpruned model as a plain value."""
    layers: dict[str, list[Site]] = {bank: [] for bank in BANKS}
    for site in sites:
        layers[site.bank].append(site)
    return HeadGrid(
        tuple(
            HeadBank(bank, tuple(LayerHeads(site.groups, site.calls) for site in found))
            for bank, found in layers.items()
            if found
        )
    )


def _ranges(rows: Tensor) -> list[list[int]]:
    ranges: list[list[int]] = []
    for row in rows.nonzero().flatten().tolist():
        if ranges and ranges[-1][1] == row:
            ranges[-1][1] = row + 1
        else:
            ranges.append([row, row + 1])
    return ranges
