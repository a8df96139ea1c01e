"""Which heads are switched off: a value that can be a key, a link or a file."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from headscope.models.heads import HeadGrid, HeadId
from headscope.models.text import shown

if TYPE_CHECKING:
    import torch
    from torch import Tensor


@dataclass(frozen=True)
class HeadMask:
    """The heads of a grid that are removed."""

    grid: HeadGrid
    removed: frozenset[HeadId] = frozenset()

    def __post_init__(self) -> None:
        for head in self.removed:
            self.grid.check(head)

    @classmethod
    def of(cls, grid: HeadGrid, addresses: Iterable[str] | str) -> HeadMask:
        """A mask from addresses, given one by one or in one text separated by spaces or commas."""
        return cls(grid, grid.parse(addresses if isinstance(addresses, str) else " ".join(addresses)))

    def __len__(self) -> int:
        return len(self.removed)

    def __bool__(self) -> bool:
        return bool(self.removed)

    def __contains__(self, head: object) -> bool:
        return head in self.removed

    def __str__(self) -> str:
        return self.grid.spell(self.removed)

    @property
    def kept(self) -> frozenset[HeadId]:
        """The heads that stay."""
        return frozenset(self.grid.heads) - self.removed

    def prune(self, *heads: HeadId) -> HeadMask:
        """These heads removed as well."""
        return HeadMask(self.grid, self.removed | set(heads))

    def restore(self, *heads: HeadId) -> HeadMask:
        """These heads back again."""
        return HeadMask(self.grid, self.removed - set(heads))

    def __or__(self, other: HeadMask) -> HeadMask:
        return HeadMask(self._same_grid(other), self.removed | other.removed)

    def __and__(self, other: HeadMask) -> HeadMask:
        return HeadMask(self._same_grid(other), self.removed & other.removed)

    def __sub__(self, other: HeadMask) -> HeadMask:
        return HeadMask(self._same_grid(other), self.removed - other.removed)

    def __invert__(self) -> HeadMask:
        return HeadMask(self.grid, self.kept)

    def _same_grid(self, other: HeadMask) -> HeadGrid:
        if self.grid != other.grid:
            raise ValueError(f"masks of two different models: {self.grid.describe()} and {other.grid.describe()}")
        return self.grid

    def as_gates(self, device: torch.device | str = "cpu") -> Tensor:
        """One gate a head in the order of the grid: 0 for a removed head, 1 for the others."""
        import torch  # pages hold masks too, and never need it

        gates = [0.0 if head in self.removed else 1.0 for head in self.grid]
        return torch.tensor(gates, device=device)

    def to_json(self) -> str:
        """The mask as one JSON object."""
        return json.dumps({"grid": self.grid.describe(), "removed": str(self).split()})

    @classmethod
    def from_json(cls, grid: HeadGrid, text: str) -> HeadMask:
        """A mask that `to_json` wrote for the same grid."""
        try:
            record = json.loads(text)
            removed, described = record["removed"], record["grid"]
        except (ValueError, RecursionError, KeyError, TypeError) as error:
            raise ValueError('not a mask; allowed is {"grid": "encoder 6 x 8", "removed": ["encoder.0.3"]}') from error
        if described != grid.describe():
            raise ValueError(f"a mask for {shown(str(described))}; this model has {grid.describe()}")
        if not isinstance(removed, list) or not all(isinstance(address, str) for address in removed):
            raise ValueError(
                f"removed heads {shown(repr(removed))}; allowed is a list of addresses such as encoder.0.3"
            )
        return cls.of(grid, removed)
