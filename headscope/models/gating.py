"""The one place that changes what a model computes: a gate for every head, at the input of the output projection."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import torch
from torch import Tensor, nn

from headscope.models.head_model import HeadModel

_INSTALLING = threading.Lock()
_ACTIVE: ContextVar[Mapping[nn.Module, Tensor]] = ContextVar("active_gates")


@contextmanager
def gated(head_model: HeadModel, gates: Tensor) -> Iterator[None]:
    """Multiplies the output of every head by its gate while the context lasts.

    `gates` has one number a head in the order of the grid, [head], or one row an example, [batch, head], which gives
    exact per-example derivatives in one backward pass. Gates of heads that were removed for good are ignored. The
    gates belong to the current thread, so several threads may share one model.
    """
    n_heads = len(head_model.grid)
    if gates.dim() not in (1, 2) or gates.shape[-1] != n_heads:
        raise ValueError(f"gates of shape {list(gates.shape)}; allowed are [{n_heads}] and [batch, {n_heads}]")
    install(head_model)
    token = _ACTIVE.set({**_ACTIVE.get({}), head_model.model: gates})
    try:
        yield
    finally:
        _ACTIVE.reset(token)


def install(head_model: HeadModel) -> None:
    """Puts a hook on every output projection, once; without active gates it does nothing."""
    with _INSTALLING:
        if not _is_installed(head_model):
            uninstall(head_model.model)
            _install(head_model)


def _install(head_model: HeadModel) -> None:
    start = 0
    starts = {}
    for bank in head_model.grid.banks:
        for layer, heads in enumerate(bank.layers):
            starts[bank.bank, layer] = start
            start += heads.n_heads
    for site in head_model.sites:
        if site.kept:
            columns = [starts[site.bank, site.layer] + head for head in site.kept]
            output = head_model.model.get_submodule(site.output)
            output.register_forward_pre_hook(_GateHook(head_model.model, columns, site.width))


def _is_installed(head_model: HeadModel) -> bool:
    """Whether the hooks of this very model are there."""
    outputs = (head_model.model.get_submodule(site.output) for site in head_model.sites if site.kept)
    hooks = next((output._forward_pre_hooks.values() for output in outputs), ())
    return any(isinstance(hook, _GateHook) and hook.model is head_model.model for hook in hooks)


def uninstall(model: nn.Module) -> None:
    """Takes all gate hooks away again, before the modules that carry them are changed."""
    for module in model.modules():
        hooks = module._forward_pre_hooks
        for key in [key for key, hook in hooks.items() if isinstance(hook, _GateHook)]:
            del hooks[key]


class _GateHook:
    """Multiplies the heads that stand side by side in the input of an output projection."""

    def __init__(self, model: nn.Module | None, columns: list[int], width: int) -> None:
        self.model = model
        self.columns = columns
        self.contiguous = columns == list(range(columns[0], columns[-1] + 1))
        self.width = width

    def __call__(self, module: nn.Module, args: tuple[Tensor, ...]) -> tuple[Tensor, ...] | None:
        del module
        gates = None if self.model is None else _ACTIVE.get({}).get(self.model)
        if gates is None:
            return None
        context = args[0]
        gates = self._own(gates).to(device=context.device, dtype=context.dtype)
        if gates.dim() == 2:
            if gates.shape[0] != context.shape[0]:
                raise ValueError(f"gates for {gates.shape[0]} examples in a batch of {context.shape[0]}")
            gates = gates.view(gates.shape[0], *[1] * (context.dim() - 2), gates.shape[1])
        heads = context.unflatten(-1, (len(self.columns), self.width))
        return ((heads * gates.unsqueeze(-1)).flatten(-2), *args[1:])

    def _own(self, gates: Tensor) -> Tensor:
        if self.contiguous:
            return gates[..., self.columns[0] : self.columns[-1] + 1]
        return torch.stack([gates[..., column] for column in self.columns], dim=-1)

    def __deepcopy__(self, memo: dict[int, Any]) -> _GateHook:
        """The hook of a copied model belongs to the copy; that of a module copied alone belongs to nobody."""
        return _GateHook(memo.get(id(self.model)), self.columns, self.width)
