"""A transformer seen as banks of heads."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from transformers import PreTrainedModel

from headscope.models.discovery import discover
from headscope.models.heads import HeadGrid, HeadId
from headscope.models.sites import Site, grid_of


@dataclass(frozen=True, eq=False)
class HeadModel:
    """A model, what turns text or images into its inputs, and the places of its heads.

    `grid` is that of the unpruned model for ever; `removed` are the heads that are gone. `missed` names modules that
    look like attention and were not understood: their heads cannot be shown or removed.
    """

    model: PreTrainedModel
    tokenizer: Any
    sites: tuple[Site, ...]
    missed: tuple[str, ...] = ()
    name: str = ""

    @classmethod
    def of(cls, model: PreTrainedModel, tokenizer: Any = None, name: str = "") -> HeadModel:
        """Finds the heads of a model that is already in memory."""
        found = discover(model)
        if not found.sites:
            looks_like = ", ".join(found.missed[:5]) or "no module at all"
            raise ValueError(
                f"no attention heads found in {type(model).__name__}; what looks like attention there: {looks_like}"
            )
        return cls(model.eval(), tokenizer, found.sites, found.missed, name or type(model).__name__)

    @cached_property
    def grid(self) -> HeadGrid:
        """The heads of the unpruned model."""
        return grid_of(self.sites)

    @cached_property
    def removed(self) -> frozenset[HeadId]:
        """The heads that are no longer in the model."""
        kept = {HeadId(site.bank, site.layer, head) for site in self.sites for head in site.kept}
        return frozenset(head for head in self.grid if head not in kept)

    @property
    def device(self) -> torch.device:
        """Where the model computes."""
        return self.model.device

    @property
    def n_parameters(self) -> int:
        """How many numbers the model holds, shared ones counted once."""
        return sum(parameter.numel() for parameter in self.model.parameters())

    @property
    def n_parameters_dense(self) -> int:
        """How many numbers the unpruned model holds."""
        plan = getattr(self.model.config, "head_plan", None)
        return int(plan["parameters"]) if plan else self.n_parameters

    def site(self, bank: str, layer: int) -> Site:
        """The live layer behind one row of the grid."""
        for site in self.sites:
            if (site.bank, site.layer) == (bank, layer):
                return site
        raise KeyError(f"no layer {bank}.{layer}; this model has {self.grid.describe()}")
