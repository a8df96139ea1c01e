"""A smaller copy of a model: heads really removed, not switched off."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

from headscope.models.gating import uninstall
from headscope.models.head_model import HeadModel
from headscope.models.shrink import shrink
from headscope.models.sites import Site
from headscope.pruning.fiak.attention_rule import Rule
from headscope.pruning.masks import HeadMask


def without_heads(head_model: HeadModel, mask: HeadMask) -> HeadModel:
    """A copy without the masked heads; the original stays as it is."""
    if mask.grid != head_model.grid:
        raise ValueError(f"a mask for {mask.grid.describe()}; this model has {head_model.grid.describe()}")
    if mask and any(isinstance(module, Rule) for module in head_model.model.modules()):
        raise ValueError(
            f"{head_model.name} is a model whose attention scores were pruned, and its heads can be switched off but "
            "no longer cut out; remove heads first and prune scores then"
        )
    smaller = copy.deepcopy(head_model.model)
    uninstall(smaller)
    sites = tuple(_without(site, mask) for site in head_model.sites)
    changed = [(old, new) for old, new in zip(head_model.sites, sites, strict=True) if old.kept != new.kept]
    shrink(smaller, {"sites": [_step(old, new) for old, new in changed]})
    smaller.config.head_plan = {
        "version": 1,
        "parameters": head_model.n_parameters_dense,
        "sites": [site.to_json() for site in sites],
    }
    return replace(head_model, model=smaller, sites=sites)


def _without(site: Site, mask: HeadMask) -> Site:
    return site.without(head.head for head in mask.removed if (head.bank, head.layer) == (site.bank, site.layer))


def _step(old: Site, new: Site) -> dict[str, Any]:
    """The removal as seen from the layer as it is now, in which earlier removals have closed ranks."""
    places = {head: place for place, head in enumerate(old.kept)}
    owners = {}
    for path, owner in old.owners.items():
        still_there = owner[list(old.kept)].any(0) | ~owner.any(0)
        owners[path] = owner[list(old.kept)][:, still_there]
    now = replace(old, owners=owners, kept=tuple(places[head] for head in new.kept))
    return now.to_json() | {"numbers": list(new.kept)}
