"""Learned priors in few numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from headscope.models.heads import HeadId
from headscope.pruning.fiak.layers import PriorLayer

BINS = 40
WIDEST = 2.0
"""The end of a histogram, in units of the initial prior; larger priors are in the last bin."""


def head_means(layers: Sequence[PriorLayer], priors: Mapping[str, Tensor]) -> dict[HeadId, float]:
    """The mean of |pi| over the scores of each head, cut to at most 1 as attention has it.

    A number a head is ours: FiAK has priors for scores and keys, never for heads.
    """
    found = {}
    for layer in layers:
        weights, visible = _weights(layer, priors), layer.visible()
        for place, head in enumerate(layer.heads):
            found[HeadId(layer.bank, layer.layer, head)] = float(weights[place][visible].mean())
    return found


def histograms(layers: Sequence[PriorLayer], priors: Mapping[str, Tensor]) -> dict[str, list[int]]:
    """By layer, how many priors are in each of BINS bins of equal width from 0 to WIDEST times the initial prior."""
    found = {}
    for layer in layers:
        own = priors[layer.name].abs() / layer.initial
        values = own[layer.visible().expand_as(own)] if own.shape[1] > 1 else own.flatten()
        places = (values * (BINS / WIDEST)).long().clamp(max=BINS - 1)
        found[layer.name] = torch.bincount(places, minlength=BINS).tolist()
    return found


def _weights(layer: PriorLayer, priors: Mapping[str, Tensor]) -> Tensor:
    """What attention has of the priors, [head, query, key]."""
    return priors[layer.name].abs().clamp(max=1).expand(-1, layer.length, -1)
