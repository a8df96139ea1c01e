"""Which attention layers of a model can have priors, and of what size."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Bool
from torch import Tensor, nn

from headscope.models.head_model import HeadModel
from headscope.models.inputs import accepted, sized_inputs
from headscope.models.recording.maps import watching
from headscope.models.sites import Site

SELF_ATTENTION = ("encoder", "decoder")


@dataclass(frozen=True)
class PriorLayer:
    """A layer of self-attention, as far as priors are concerned.

    `length` is N, the number of tokens that the priors are for; `front` counts keys that the layer itself puts before
    those of the tokens. `groups` gives for every head that is left the number of the key/value head it reads.
    """

    bank: str
    layer: int
    core: str
    heads: tuple[int, ...]
    groups: tuple[int, ...]
    width: int
    length: int
    front: int

    @property
    def name(self) -> str:
        """Bank and layer, such as `encoder.3`."""
        return f"{self.bank}.{self.layer}"

    @property
    def causal(self) -> bool:
        """Whether a query sees no later key."""
        return self.bank == "decoder"

    @property
    def initial(self) -> float:
        """The prior that every score begins with: 1/sqrt(N), as in the paper (its released code has N^(-1/4))."""
        return float(self.length**-0.5)

    def visible(self) -> Bool[Tensor, "query key"]:
        """The scores that exist: all, or those of keys that are not later than the query."""
        every = torch.ones(self.length, self.length, dtype=torch.bool)
        return every.tril() if self.causal else every


def prior_layers(head_model: HeadModel, length: int | None = None) -> tuple[PriorLayer, ...]:
    """The layers of self-attention for inputs of `length` tokens; a model that reads images has its own length.

    FiAK is about self-attention, so cross-attention is left as it is.
    """
    sites = [site for site in head_model.sites if site.bank in SELF_ATTENTION and site.kept]
    for site in sites:
        _check(head_model.model.get_submodule(site.core), site)
    sizes = _sizes(head_model, sized_inputs(head_model.model, 1, length))
    return tuple(_layer(site, *sizes[site.core]) for site in sites)


def _layer(site: Site, n_queries: int, n_keys: int) -> PriorLayer:
    shared = [site.groups[head] for head in site.kept]
    groups = tuple(sorted(set(shared)).index(group) for group in shared)
    return PriorLayer(
        site.bank, site.layer, site.core, site.kept, groups, site.width, n_queries, front=n_keys - n_queries
    )


def _check(core: nn.Module, site: Site) -> None:
    forward: Any = inspect.unwrap(type(core).forward)
    if "ALL_ATTENTION_FUNCTIONS" not in forward.__code__.co_names or not hasattr(core, "config"):
        raise ValueError(
            f"no priors for {site.core} ({type(core).__name__}); "
            "allowed are modules that use transformers' AttentionInterface"
        )


@torch.no_grad()
def _sizes(head_model: HeadModel, inputs: Mapping[str, Tensor]) -> dict[str, tuple[int, int]]:
    """By the path of each attention module, how many queries and keys it has for these inputs."""
    found: dict[str, tuple[int, int]] = {}

    def note(site: Site, attention: Tensor, first_query: int) -> None:
        found[site.core] = first_query + attention.shape[-2], attention.shape[-1]

    with watching(head_model, note):
        head_model.model(**inputs, **accepted(head_model.model, use_cache=False))
    return found
