"""What a model costs without the heads of a mask, told without making the smaller model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode
from transformers.pytorch_utils import Conv1D

from headscope.models.head_model import HeadModel
from headscope.models.heads import HeadGrid, HeadId
from headscope.models.inputs import accepted, longest_input, sized_inputs
from headscope.models.parameter_shares import ParameterShares
from headscope.models.sites import Site
from headscope.pruning.export.proof import attending, attention_implementations
from headscope.pruning.masks import HeadMask

GENERATING_BANKS = ("decoder", "cross")


@dataclass(frozen=True, slots=True)
class Cost:
    """The size of the really smaller model, and what it computes and keeps.

    `flops` are two for each multiplication with an addition, of one example; `cache` counts the numbers that are kept
    for a token while text is generated (where there is a source, for one of its tokens as well), 0 for models that do
    not generate. A layer without heads keeps a phantom one of zeros, which is counted where it is really there.
    """

    parameters: int
    attention_parameters: int
    flops: int
    cache: int


@dataclass(frozen=True, slots=True)
class _Part:
    """Weights, and the work done with them, that go when the last of these heads goes."""

    heads: frozenset[HeadId]
    parameters: int
    flops: int


@dataclass(frozen=True, slots=True)
class _Layer:
    """An attention layer: its heads by the key/value head that they share, its parts, and what stays without heads."""

    groups: tuple[frozenset[HeadId], ...]
    parts: tuple[_Part, ...]
    phantom: _Part
    cache_of_group: int

    def under(self, removed: frozenset[HeadId]) -> tuple[int, int, int]:
        """Parameters, operations and cache without these heads."""
        left = [part for part in self.parts if not part.heads <= removed]
        groups = sum(1 for group in self.groups if not group <= removed)
        if not groups:
            left = [self.phantom]
        parameters, flops = sum(part.parameters for part in left), sum(part.flops for part in left)
        return parameters, flops, max(1, groups) * self.cache_of_group


@dataclass(frozen=True, slots=True)
class Costs:
    """The cost of a model under any mask, for inputs of `length` tokens.

    Exact: parameters and operations are those that the smaller model holds and does, with attention counted as written
    out (scores, then values), whichever function computes it. Only where heads have persistent keys of their own is a
    phantom head counted with them although it has none.
    """

    grid: HeadGrid
    length: int
    layers: tuple[_Layer, ...]
    fixed: Cost

    @classmethod
    def of(cls, head_model: HeadModel, length: int = 128) -> Costs:
        """Runs one example of that length once, or of the longest that the model takes."""
        length = min(length, longest_input(head_model.model) or length)
        counted = _Counted.of(head_model, length)
        layers = tuple(_layer(head_model, site, counted) for site in head_model.sites if site.kept)
        parameters, flops, _ = _totals(layers, frozenset())
        fixed = Cost(
            head_model.n_parameters - parameters,
            ParameterShares.of(head_model).attention - parameters,
            counted.total - flops,
            sum(_cache_of_group(head_model, site) for site in head_model.sites if not site.kept),
        )
        return cls(head_model.grid, length, layers, fixed)

    def under(self, mask: HeadMask) -> Cost:
        """What the model costs without these heads."""
        if mask.grid != self.grid:
            raise ValueError(f"a mask for {mask.grid.describe()}; this model has {self.grid.describe()}")
        parameters, flops, cache = _totals(self.layers, mask.removed)
        return Cost(
            self.fixed.parameters + parameters,
            self.fixed.attention_parameters + parameters,
            self.fixed.flops + flops,
            self.fixed.cache + cache,
        )


@dataclass(frozen=True)
class _Counted:
    """The operations of one forward pass, all together and of each module by its path."""

    total: int
    by_path: Counter[str]

    @classmethod
    def of(cls, head_model: HeadModel, length: int) -> _Counted:
        """Attention must be written out: torch does not count what fused attention does on a CPU."""
        model = head_model.model
        written_out = attention_implementations(model)[0]
        counter = FlopCounterMode(display=False)
        # The counter cannot look at modules that are given a parameter while gradients are off.
        with attending(model, written_out), torch.inference_mode(False), torch.enable_grad(), counter:
            model(**sized_inputs(model, 1, length), **accepted(model, use_cache=False))
        root = f"{type(model).__name__}."
        counts = {path.removeprefix(root): sum(by.values()) for path, by in counter.get_flop_counts().items()}
        return cls(counter.get_total_flops(), Counter(counts))

    def between_projections(self, core: nn.Module, path: str) -> int:
        """The operations of an attention module outside its linear layers: scores and values."""
        linear = [name for name, module in core.named_modules() if isinstance(module, nn.Linear | Conv1D)]
        return self.by_path[path] - sum(self.by_path[f"{path}.{name}"] for name in linear)


def _layer(head_model: HeadModel, site: Site, counted: _Counted) -> _Layer:
    numbers = site.groups
    groups = {number: _named(site, [one for one in site.kept if numbers[one] == number]) for number in numbers}
    core = head_model.model.get_submodule(site.core)
    attending_flops = counted.between_projections(core, site.core) // len(site.kept)
    own, own_of_phantom = _own_parameters(core, site)
    of_head = _columns(head_model, site) + own, attending_flops + counted.by_path[site.output] // len(site.kept)
    return _Layer(
        tuple(group for group in groups.values() if group),
        (*_rows(head_model, site, counted), *(_Part(_named(site, [head]), *of_head) for head in site.kept)),
        _Part(frozenset(), own_of_phantom, attending_flops),
        _cache_of_group(head_model, site),
    )


def _rows(head_model: HeadModel, site: Site, counted: _Counted) -> list[_Part]:
    """The rows of the projections, those that feed the same heads together; rows that feed none go with the last."""
    parts = []
    for path, owner in site.owners.items():
        feeding = owner[list(site.kept)][:, owner[list(site.kept)].any(0) | ~owner.any(0)]
        patterns, n_rows = torch.unique(feeding, dim=1, return_counts=True)
        parameters = _numbers(head_model.model.get_submodule(path)) // feeding.shape[1]
        flops = counted.by_path[path] // feeding.shape[1]
        for pattern, n in zip(patterns.T, n_rows.tolist(), strict=True):
            fed = [head for head, feeds in zip(site.kept, pattern.tolist(), strict=True) if feeds]
            parts.append(_Part(_named(site, fed or site.kept), n * parameters, n * flops))
    return parts


def _named(site: Site, heads: Iterable[int]) -> frozenset[HeadId]:
    return frozenset(HeadId(site.bank, site.layer, head) for head in heads)


def _numbers(module: nn.Module) -> int:
    return sum(parameter.numel() for parameter in module.parameters())


def _columns(head_model: HeadModel, site: Site) -> int:
    """The weights of the output projection that read one head; its bias stays for ever."""
    output: Any = head_model.model.get_submodule(site.output)
    return int(output.weight.numel()) // len(site.kept)


def _own_parameters(core: nn.Module, site: Site) -> tuple[int, int]:
    """What a head has of the parameters that the attention module holds itself, and what a phantom head keeps of them.

    As in headscope/models/shrink.py: they are cut where a side of them is as long as there are heads, or columns of
    heads.
    """
    own = phantom = 0
    for parameter in core.parameters(recurse=False):
        sides = [size for size in parameter.shape if size in (len(site.kept), len(site.kept) * site.width)]
        if sides:
            own += parameter.numel() // len(site.kept)
            phantom += parameter.numel() // len(site.kept) if sides[0] != len(site.kept) else 0
    return own, phantom


def _cache_of_group(head_model: HeadModel, site: Site) -> int:
    """The numbers that one key/value head keeps for a token, its key and its value."""
    model = head_model.model
    generates = model.can_generate() and site.bank in GENERATING_BANKS
    return 2 * site.width * site.calls if generates else 0


def _totals(layers: tuple[_Layer, ...], removed: frozenset[HeadId]) -> tuple[int, int, int]:
    """Parameters, operations and cache of all these layers without these heads."""
    found = [layer.under(removed) for layer in layers]
    return sum(one[0] for one in found), sum(one[1] for one in found), sum(one[2] for one in found)
