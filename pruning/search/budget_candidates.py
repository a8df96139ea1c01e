"""Which heads may go for a budget, in which order, and what the model costs without them."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from headscope.models.head_model import HeadModel
from headscope.models.heads import HeadGrid, HeadId
from headscope.pruning.evaluation.cost import Cost, Costs
from headscope.pruning.masks import HeadMask
from headscope.pruning.search.budgets import AtMost, Budget, Faster

ANY_LENGTH = 128
Chosen = tuple[int, ...]
"""Numbers of units that go, ascending."""


@dataclass(frozen=True)
class Candidates:
    """Units of heads in the order in which they go.

    A unit is a head; where the cache is limited it is all heads that share a key/value head, which apart free nothing.
    """

    head_model: HeadModel
    units: tuple[tuple[HeadId, ...], ...]
    costs: Mapping[int, Costs]

    @classmethod
    def of(cls, head_model: HeadModel, order: Sequence[HeadId], budgets: Sequence[Budget]) -> Candidates:
        """The heads of an order, the first to go first; those that the model has lost are left out."""
        for head in order:
            head_model.grid.check(head)
        there = [head for head in dict.fromkeys(order) if head not in head_model.removed]
        together = any(isinstance(budget, AtMost) and budget.what == "key/value cache" for budget in budgets)
        units = _sharing(head_model.grid, there) if together else tuple((head,) for head in there)
        lengths = {budget.length for budget in budgets if isinstance(budget, Faster)} or {ANY_LENGTH}
        return cls(head_model, units, {length: Costs.of(head_model, length) for length in sorted(lengths)})

    @property
    def all(self) -> Chosen:
        """Everything that may go."""
        return tuple(range(len(self.units)))

    def mask(self, chosen: Chosen) -> HeadMask:
        """The mask of these units."""
        return HeadMask(self.head_model.grid, frozenset(head for number in chosen for head in self.units[number]))

    def left(self, what: str, chosen: Chosen) -> float:
        """The share of a quantity that is left without these units."""
        mask = self.mask(chosen)
        if what == "heads":
            return 1 - len(mask) / (len(self.head_model.grid) - len(self.head_model.removed))
        costs = next(iter(self.costs.values()))
        before = _quantity(costs.under(self.mask(())), what)
        if before == 0:
            raise ValueError(f"a budget for the {what}; this model has none")
        return _quantity(costs.under(mask), what) / before

    def predicted(self, length: int, chosen: Chosen) -> float:
        """How many times fewer operations there are without these units."""
        costs = self.costs[length]
        return costs.under(self.mask(())).flops / costs.under(self.mask(chosen)).flops

    def smallest(self, reaches: Callable[[Chosen], bool]) -> Chosen | None:
        """The first units of the order that reach an aim, without those that it does not need; None if all do not.

        Removing more must never lead away from the aim.
        """
        if not reaches(self.all):
            return None
        n = bisect_left(range(len(self.units)), True, key=lambda count: reaches(self.all[:count]))
        chosen = self.all[:n]
        for unit in reversed(chosen):  # the most important one is given back first
            without = tuple(one for one in chosen if one != unit)
            if reaches(without):
                chosen = without
        return chosen


def _sharing(grid: HeadGrid, order: Sequence[HeadId]) -> tuple[tuple[HeadId, ...], ...]:
    """Heads that share keys and values together; units go in the order of the mean place of their heads."""
    places: dict[tuple[str, int, int], list[int]] = defaultdict(list)
    for place, head in enumerate(order):
        groups = grid.bank(head.bank).layers[head.layer].groups
        places[head.bank, head.layer, groups[head.head]].append(place)
    ranked = sorted(places.values(), key=lambda found: sum(found) / len(found))
    return tuple(tuple(order[place] for place in found) for found in ranked)


def _quantity(cost: Cost, what: str) -> int:
    fields = {
        "attention parameters": cost.attention_parameters,
        "parameters": cost.parameters,
        "operations": cost.flops,
        "key/value cache": cost.cache,
    }
    return fields[what]
