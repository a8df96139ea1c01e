"""How different the attention patterns of a layer's heads are from each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

from jaxtyping import Float
from torch import Tensor

from headscope.models.head_model import HeadModel
from headscope.models.recording.maps import attention_maps


def diversity(head_model: HeadModel, examples: Sequence[Mapping[str, Tensor]]) -> dict[str, float]:
    """By layer, such as `encoder.3`, the mean distance between two heads over examples of one row each.

    The paper shows that priors make patterns more diverse; this measure is ours.
    """
    found: dict[str, list[float]] = {}
    for inputs in examples:
        for (bank, layer), attention in attention_maps(head_model, inputs).items():
            found.setdefault(f"{bank}.{layer}", []).append(distance(attention))
    return {layer: sum(values) / len(values) for layer, values in found.items()}


def distance(attention: Float[Tensor, "head query key"]) -> float:
    """The share of attention that two heads do not have in common, from 0 to 1, averaged over pairs and queries.

    1/2 sum_j |A_ij - B_ij|, the distance in total variation; 0 where there is but one head.
    """
    pairs = list(combinations(attention.unbind(), 2))
    return sum(float((one - other).abs().sum(-1).mean()) / 2 for one, other in pairs) / max(1, len(pairs))
