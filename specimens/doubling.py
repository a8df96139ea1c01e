"""A GPT-2 made twice as wide that computes what it computed before (net2net, Chen, Goodfellow and Shlens 2016).

Every feature is there twice, and what reads a pair takes half of each. So layer norms see the same mean and variance,
and only two scales change: that of the queries, for heads of twice the width, and that of the last norm, since the
embedding that reads it is the one the model begins with. The halves get opposite noise, or they would stay equal.
"""

from __future__ import annotations

import math
from copy import deepcopy

import torch
from torch import Tensor
from transformers import GPT2LMHeadModel, PreTrainedModel

NOISE = 0.5  # in standard deviations of a weight


@torch.no_grad()
def doubled(model: PreTrainedModel) -> GPT2LMHeadModel:
    """The model with twice the width everywhere; the noise depends on torch's global seed."""
    if not isinstance(model, GPT2LMHeadModel):
        raise ValueError(f"only a GPT-2 can be doubled, not a {type(model).__name__}")
    config = deepcopy(model.config)
    config.n_embd *= 2
    config.n_inner = config.n_inner and 2 * config.n_inner  # None means four times n_embd
    wide = type(model)(config)
    n_heads = config.n_head
    weights: dict[str, Tensor] = {}
    for name, weight in model.state_dict().items():
        per_head = n_heads if ".attn.c_proj.weight" in name else 1
        parts = 3 * n_heads if ".attn.c_attn." in name else 1
        grown = _twice(weight, parts)
        if ".attn.c_attn." in name:
            grown[..., : config.n_embd] /= math.sqrt(2)
        if "ln_f" in name:
            grown /= 2
        if weight.dim() == 2 and ".h." in name:
            grown = _halves(grown.T, per_head).T
        weights[name] = grown
    wide.load_state_dict(weights)
    return wide


def _twice(weight: Tensor, parts: int) -> Tensor:
    """The last dimension twice, within each of its equal parts."""
    pieces = weight.unflatten(-1, (parts, -1))
    return torch.cat([pieces, pieces], dim=-1).flatten(-2)


def _halves(weight: Tensor, parts: int) -> Tensor:
    """The last dimension twice, within each of its equal parts: a half and more, and a half and as much less."""
    pieces = weight.unflatten(-1, (parts, -1)) / 2
    noise = NOISE * pieces.std() * torch.randn_like(pieces)
    return torch.cat([pieces + noise, pieces - noise], dim=-1).flatten(-2)
