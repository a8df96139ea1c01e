"""A grid made of addresses alone, for records that keep no model."""

from __future__ import annotations

from collections.abc import Iterable

from models.heads import BANKS, HeadBank, HeadGrid, HeadId, LayerHeads


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
