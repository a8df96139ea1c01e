"""Keys and values that no head needs are not projected."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any

import torch
from jaxtyping import Bool
from torch import Tensor, nn
from transformers.cache_utils import Cache
from transformers.pytorch_utils import Conv1D

from headscope.models.head_model import HeadModel
from headscope.models.inputs import accepted, sized_inputs
from headscope.models.sites import Site

PROBE_LENGTH = 7
PROBE_SCALE = 0.5


KeyRows = Mapping[str, Mapping[str, Bool[Tensor, " row"]]]
"""By the paths of attention module and projection, whether a row makes a key or a value."""


def skip_projections(model: nn.Module, rows: KeyRows, needed: Mapping[str, Bool[Tensor, " position"]]) -> None:
    """Changes the model: at positions that are not `needed`, by the path of the attention module, no key is made.

    Values neither. In their place are zeros, which nobody reads. Inputs have the positions after those in a cache.
    """
    for path, of_core in rows.items():
        if bool(needed[path].all()):
            continue
        for projection, of_keys in of_core.items():
            if bool(of_keys.any()):
                _skip(model.get_submodule(projection), of_keys, needed[path])
        model.get_submodule(path).register_forward_pre_hook(_tell_past, with_kwargs=True)


def key_rows(head_model: HeadModel, cores: Collection[str], length: int) -> KeyRows:
    """The rows that make keys and values in the attention modules at these paths.

    Found by what they do, as in headscope/models/discovery.py: what a head gives at the last position depends on them
    at other positions, and on rows that make queries only at its own. Inputs have at most `length` tokens.
    """
    model = head_model.model
    probes = {site.core: _Probe(site) for site in head_model.sites if site.core in cores}
    inputs = sized_inputs(model, 1, min(length, PROBE_LENGTH))
    with ExitStack() as stack, torch.enable_grad():
        for probe in probes.values():
            stack.enter_context(probe.on(model))
        model(**inputs, **accepted(model, use_cache=False))
    return {core: probe.found for core, probe in probes.items()}


class _Probe:
    """Puts random leaves in place of what a layer's projections give, and sees where its output depends on them."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self.generator = torch.Generator().manual_seed(0)
        self.leaves: dict[str, Tensor] = {}
        self.found: dict[str, Tensor] = {}

    @contextmanager
    def on(self, model: nn.Module) -> Iterator[None]:
        """Watches the layer of this model."""
        with ExitStack() as stack:
            for path in self.site.owners:
                stack.callback(model.get_submodule(path).register_forward_hook(partial(self._cut, path)).remove)
            stack.callback(model.get_submodule(self.site.output).register_forward_pre_hook(self._trace).remove)
            yield

    def _cut(self, path: str, module: nn.Module, args: Any, output: Tensor) -> Tensor:
        del module, args
        values = torch.randn(output.shape, generator=self.generator) * PROBE_SCALE
        self.leaves[path] = values.to(output.device, output.dtype).requires_grad_()
        return self.leaves[path].clone()

    def _trace(self, module: nn.Module, args: tuple[Tensor, ...]) -> None:
        del module
        last = args[0][:, -1].sum()
        gradients = torch.autograd.grad(last, list(self.leaves.values()), retain_graph=True, allow_unused=True)
        for (path, leaf), gradient in zip(self.leaves.items(), gradients, strict=True):
            none = torch.zeros(leaf.shape[-1], dtype=torch.bool)
            elsewhere = none if gradient is None else (gradient[:, :-1] != 0).flatten(0, 1).any(0).cpu()
            self.found[path] = self.found.get(path, none) | elsewhere


class _Skip(nn.Module):
    """What a projection skips: it is made at `needed` positions only, as far as its `key_rows` are concerned."""

    def __init__(self, of_keys: Bool[Tensor, " row"], needed: Bool[Tensor, " position"]) -> None:
        super().__init__()
        self.key_rows: Tensor
        self.other_rows: Tensor
        self.register_buffer("key_rows", of_keys.nonzero().flatten(), persistent=False)
        self.register_buffer("other_rows", (~of_keys).nonzero().flatten(), persistent=False)
        self.needed = tuple(needed.tolist())
        self.past = 0
        self._places: dict[tuple[int, int], Tensor] = {}

    def places(self, n: int) -> Tensor | None:
        """Which of n positions after those in the cache are needed; None if all are."""
        asked = self.past, n
        if self.past + n > len(self.needed) or all(self.needed[self.past : self.past + n]):
            return None
        if asked not in self._places:
            with torch.inference_mode(False):  # what is kept may take part in training later
                found = [place for place in range(n) if self.needed[self.past + place]]
                self._places[asked] = torch.tensor(found, dtype=torch.long, device=self.key_rows.device)
        return self._places[asked]

    def projected(self, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor | None:
        """What the projection gives, zeros where it skips; None where it skips nothing. `weight` is [row, column]."""
        places = self.places(x.shape[1]) if x.dim() == 3 else None
        if places is None:
            return None
        made = _rows(x.index_select(1, places), weight, bias, self.key_rows)
        spread = made.new_zeros(*x.shape[:-1], made.shape[-1]).index_copy_(1, places, made)
        if not len(self.other_rows):
            return spread
        everywhere = _rows(x, weight, bias, self.other_rows)
        given = made.new_empty(*x.shape[:-1], len(weight))
        return given.index_copy_(2, self.other_rows, everywhere).index_copy_(2, self.key_rows, spread)


def _rows(x: Tensor, weight: Tensor, bias: Tensor | None, rows: Tensor) -> Tensor:
    """Some rows of a projection."""
    if len(rows) == len(weight):
        return nn.functional.linear(x, weight, bias)
    some = None if bias is None else bias.index_select(0, rows)
    return nn.functional.linear(x, weight.index_select(0, rows), some)


class _SkippingLinear(nn.Linear):
    skip: _Skip

    def forward(self, x: Tensor) -> Tensor:
        """Zeros at positions that nobody needs."""
        found = self.skip.projected(x, self.weight, self.bias)
        return super().forward(x) if found is None else found


class _SkippingConv1D(Conv1D):
    skip: _Skip

    def forward(self, x: Tensor) -> Tensor:
        """Zeros at positions that nobody needs."""
        found = self.skip.projected(x, self.weight.T, self.bias)
        return super().forward(x) if found is None else found  # type: ignore[no-untyped-call]


def _skip(module: Any, of_keys: Bool[Tensor, " row"], needed: Bool[Tensor, " position"]) -> None:
    module.__class__ = _SkippingConv1D if isinstance(module, Conv1D) else _SkippingLinear
    module.skip = _Skip(of_keys, needed).to(module.weight.device)


def _tell_past(core: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Tells the projections how many tokens a cache holds already."""
    cache = next((value for value in (*args, *kwargs.values()) if isinstance(value, Cache)), None)
    past = 0 if cache is None else cache.get_seq_length(core.layer_idx)
    for module in core.modules():
        if isinstance(module, _Skip):
            module.past = past
