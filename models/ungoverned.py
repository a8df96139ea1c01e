"""Attention layers that no gate reaches, as the first of a decoder: what they attend to is computed from tokens alone.

They compute the same under every mask, although they run after an encoder whose gates change.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from models.gating import gated
from models.head_model import HeadModel
from models.sites import Site

LEAST, MOST = 0.25, 0.75
"""Gates that are tried: no two alike, so that nothing cancels."""


@torch.no_grad()
def ungoverned(head_model: HeadModel, run: Callable[[], object]) -> frozenset[Site]:
    """The attention layers whose heads give the same whatever the gates; `run` makes a pass, over a row or more.

    Found out by two passes. A model of one bank has none but its first. Only on the CPU: to compare is to read values
    back, for which any other device would have to wait.
    """
    if len(head_model.grid.banks) < 2 or head_model.device.type != "cpu":
        return frozenset()
    n = len(head_model.grid)
    first, second = (_contexts(head_model, run, gates) for gates in (torch.ones(n), torch.linspace(LEAST, MOST, n)))
    return frozenset(site for site in first if _are_equal(first[site], second.get(site, [])))


def _contexts(head_model: HeadModel, run: Callable[[], object], gates: Tensor) -> dict[Site, list[Tensor]]:
    """What the heads of every attention layer give before gates act, call by call."""
    found: dict[Site, list[Tensor]] = {}
    with gated(head_model, gates), ExitStack() as stack:
        for site in head_model.sites:
            output = head_model.model.get_submodule(site.output)
            hook = output.register_forward_pre_hook(partial(_note, found.setdefault(site, [])), prepend=True)
            stack.callback(hook.remove)
        run()
    return found


def _note(seen: list[Tensor], module: nn.Module, args: tuple[Any, ...]) -> None:
    del module
    seen.append(args[0])


def _are_equal(first: list[Tensor], second: list[Tensor]) -> bool:
    return len(first) == len(second) == 1 and torch.equal(first[0], second[0])
