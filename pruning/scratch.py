"""The same shape with new weights: what a small model learns that was never a large one."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

import torch

from models.gating import uninstall
from models.head_model import HeadModel
from models.shrink import Constant

MARK = "_is_hf_initialized"
"""What transformers leaves on modules and weights that it has filled, so that they are not filled again."""


def reinitialised(head_model: HeadModel, seed: int) -> HeadModel:
    """A copy whose weights are drawn anew as its architecture draws them, by the seed alone.

    Differs from the specimens' own beginnings where a recipe sets something by hand, such as positions.
    """
    model: Any = copy.deepcopy(head_model.model)
    uninstall(model)
    for holder in (*model.modules(), *model.parameters(), *model.buffers()):
        if hasattr(holder, MARK):
            delattr(holder, MARK)
    with torch.random.fork_rng(devices=[model.device] if model.device.type == "cuda" else []):
        torch.manual_seed(seed)
        model.initialize_weights()
    model.tie_weights()
    for module in model.modules():
        if isinstance(module, Constant) and module.bias is not None:  # all that is left of a layer without heads
            torch.nn.init.zeros_(module.bias)
    return replace(head_model, model=model.eval())
