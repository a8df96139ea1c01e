"""Finds the attention layers of any transformers model by what they do, not by what they are called.

One forward pass is run in which the output of every linear layer is cut off as a leaf of the autograd graph. A linear
layer whose input at one position depends directly on such leaves at other positions can only be the output projection
of an attention layer, and those leaves are its queries, keys and values. Which rows feed which head is the exact zero
pattern of the Jacobian, so fused projections, grouped queries and relative positions need no case of their own.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel
from transformers.pytorch_utils import Conv1D

from headscope.models.heads import BANKS
from headscope.models.inputs import accepted, probe_inputs
from headscope.models.sites import Site

PROBE_SCALE = 0.5
HEAD_WIDTH_ATTRIBUTES = ("head_dim", "attention_head_size", "head_size", "key_value_proj_dim", "d_kv", "dim_head")


@dataclass(frozen=True)
class Discovery:
    """What was found in a model, and the names of modules that look like attention but were not understood."""

    sites: tuple[Site, ...]
    missed: tuple[str, ...]


def discover(model: PreTrainedModel) -> Discovery:
    """Every attention layer that a forward pass of the model runs, in the order of the pass."""
    trace = _Trace(model)
    with _eval(model), trace.hooks(), torch.enable_grad():
        try:
            model(**probe_inputs(model), **accepted(model, use_cache=False))
        except Exception as error:  # whatever a model of any architecture raises on inputs it does not take
            reason = (str(error).strip() or type(error).__name__).splitlines()[0][:200]
            raise ValueError(f"{type(model).__name__} does not run on a plain input: {reason}") from error
    sites = _numbered(list(trace.found.values()), _encoder_path(model))
    return Discovery(sites, missed_modules(model, sites))


@dataclass
class _Found:
    """An attention layer while it is being traced."""

    core: str
    output: str
    width: int
    causal: bool
    cross: bool
    owners: dict[str, Tensor]
    calls: int = 1


class _Trace:
    """Watches every linear layer of one forward pass."""

    def __init__(self, model: PreTrainedModel) -> None:
        self.model = model
        self.paths: dict[nn.Module, str] = {
            module: path for path, module in model.named_modules() if isinstance(module, nn.Linear | Conv1D)
        }
        self.recent: list[tuple[str, Tensor]] = []
        self.found: dict[str, _Found] = {}
        self.generator = torch.Generator().manual_seed(0)
        self.two_sequences = bool(
            model.config.is_encoder_decoder or getattr(model.config, "add_cross_attention", False)
        )

    @contextmanager
    def hooks(self) -> Iterator[None]:
        handles = []
        try:
            for module in self.paths:
                handles.append(module.register_forward_pre_hook(self._before))
                handles.append(module.register_forward_hook(self._after))
            yield
        finally:
            for handle in handles:
                handle.remove()

    def _before(self, module: nn.Module, args: tuple[Tensor, ...]) -> None:
        context = args[0]
        if context.dim() != 3 or not context.requires_grad or context.shape[1] < 2:
            return
        sources = self._sources(context)
        if sources:
            self._record(self.paths[module], context, sources)
            self.recent.clear()

    def _after(self, module: nn.Module, args: tuple[Tensor, ...], output: Tensor) -> Tensor | None:
        del args
        if not isinstance(output, Tensor):
            return None
        leaf = self._random(output).requires_grad_()
        self.recent.append((self.paths[module], leaf))
        return leaf.clone()  # a copy, because some models change projections in place

    def _random(self, output: Tensor) -> Tensor:
        """Values that do not depend on the weights: a dead head or a saturated softmax would hide dependencies."""
        values = torch.randn(output.shape, generator=self.generator) * PROBE_SCALE
        return values.to(output.device, output.dtype)

    def _sources(self, context: Tensor) -> list[tuple[str, Tensor]]:
        """The leaves on which the last position of `context` depends, if it depends on other positions at all."""
        last = torch.zeros_like(context)
        last[:, -1] = _random_like(context[:, -1])
        gradients = self._gradients(context, last, [leaf for _, leaf in self.recent])
        used = [source for source, gradient in zip(self.recent, gradients, strict=True) if gradient is not None]
        mixes = any(_reaches_elsewhere(gradient, context) for gradient in gradients if gradient is not None)
        return used if mixes else []

    @staticmethod
    def _gradients(context: Tensor, weights: Tensor, leaves: list[Tensor]) -> tuple[Tensor | None, ...]:
        if not leaves:
            return ()
        return torch.autograd.grad(context, leaves, weights, retain_graph=True, allow_unused=True)

    def _record(self, output: str, context: Tensor, sources: list[tuple[str, Tensor]]) -> None:
        core = _common_parent([path for path, _ in sources])
        width = _head_width(self.model, core, context.shape[-1])
        if width is None:
            return
        leaves = [leaf for _, leaf in sources]
        owners: dict[str, Tensor] = {}
        for head in range(context.shape[-1] // width):
            weights = torch.zeros_like(context)
            columns = slice(head * width, (head + 1) * width)
            weights[..., columns] = _random_like(context[..., columns])
            for (path, leaf), gradient in zip(sources, self._gradients(context, weights, leaves), strict=True):
                rows = owners.setdefault(path, torch.zeros(context.shape[-1] // width, leaf.shape[-1]).bool())
                if gradient is not None:
                    rows[head] |= (gradient != 0).flatten(0, -2).any(0).cpu()
        if output in self.found:
            self.found[output].calls += 1
            return
        taken = any(other.core == core for other in self.found.values())
        if taken or not torch.stack([owner.any(1) for owner in owners.values()]).any(0).all():
            return
        cross = self.two_sequences and any(leaf.shape[-2] != context.shape[1] for leaf in leaves)
        self.found[output] = _Found(core, output, width, self._causal(context, leaves), cross, owners)

    def _causal(self, context: Tensor, leaves: list[Tensor]) -> bool:
        first = torch.zeros_like(context)
        first[:, 0] = _random_like(context[:, 0])
        gradients = self._gradients(context, first, leaves)
        return not any(bool((gradient[..., 1:, :] != 0).any()) for gradient in gradients if gradient is not None)


def _reaches_elsewhere(gradient: Tensor, context: Tensor) -> bool:
    if gradient.dim() != 3 or gradient.shape[1] != context.shape[1]:
        return True
    return bool((gradient[:, :-1] != 0).any())


def _random_like(values: Tensor) -> Tensor:
    generator = torch.Generator().manual_seed(1)
    return torch.rand(values.shape, generator=generator).add(0.5).to(values.device, values.dtype)


def _common_parent(paths: list[str]) -> str:
    parents = [path.split(".")[:-1] for path in paths]
    common = parents[0]
    for parent in parents[1:]:
        common = [a for a, b in zip(common, parent, strict=False) if a == b][: len(common)]
    return ".".join(common)


def _head_width(model: PreTrainedModel, core: str, fan_in: int) -> int | None:
    module = model.get_submodule(core)
    for name in HEAD_WIDTH_ATTRIBUTES:
        width = getattr(module, name, None)
        if isinstance(width, int) and width > 0 and fan_in % width == 0:
            return width
    return None


def _encoder_path(model: PreTrainedModel) -> str | None:
    """Where the encoder of a model with two stacks lies."""
    if not model.config.is_encoder_decoder:
        return None
    encoder = model.get_encoder()
    return next((path for path, module in model.named_modules() if module is encoder), None)


def _numbered(found: list[_Found], encoder: str | None) -> tuple[Site, ...]:
    layers = dict.fromkeys(BANKS, 0)
    sites = []
    all_causal = all(item.causal for item in found if not item.cross)
    for item in found:
        if encoder is None:
            bank = "cross" if item.cross else "decoder" if all_causal else "encoder"
        elif item.core.startswith(f"{encoder}."):
            bank = "encoder"
        else:
            bank = "cross" if item.cross else "decoder"
        kept = tuple(range(next(iter(item.owners.values())).shape[0]))
        sites.append(Site(bank, layers[bank], item.core, item.output, item.width, kept, item.owners, item.calls))
        layers[bank] += 1
    return tuple(sites)


def missed_modules(model: PreTrainedModel, sites: tuple[Site, ...]) -> tuple[str, ...]:
    """Modules that call themselves attention and hold weights, but belong to no site."""
    known = {path for site in sites for path in (site.core, site.output, *site.owners)}

    def understood(path: str) -> bool:
        return any(path == other or path.startswith(f"{other}.") or other.startswith(f"{path}.") for other in known)

    suspects = [
        path
        for path, module in model.named_modules()
        if path and _calls_itself_attention(module) and not understood(path)
    ]
    return tuple(path for path in suspects if not any(path.startswith(f"{other}.") for other in suspects))


def _calls_itself_attention(module: nn.Module) -> bool:
    return "attention" in type(module).__name__.lower() and any(True for _ in module.parameters())


@contextmanager
def _eval(model: nn.Module) -> Iterator[None]:
    training = [module for module in model.modules() if module.training]
    model.eval()
    try:
        yield
    finally:
        for module in training:
            module.training = True
