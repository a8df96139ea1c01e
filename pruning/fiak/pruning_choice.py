"""What to prune of a whole model, by which priors."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from headscope.pruning.fiak.layers import PriorLayer
from headscope.pruning.fiak.priors import PRIORS
from headscope.pruning.fiak.selection import AMONG, KeptLayer, key_pruning, mixed_pruning, score_pruning

SHARED = ("head", "layer")
CHOICES = ("prior", "random")


@dataclass(frozen=True)
class Choice:
    """Fractions of scores and keys to prune, and what decides which.

    With the prior `pair`, `scores` alone is algorithm 1 and with `keys` algorithm 2; with the prior `key`, `keys` alone
    is algorithm 3. `shared` says whether every head loses keys of its own, or all heads of a layer the same ones, which
    then are not made at all. `by` random is the control: the same counts, whatever was learned. `among` is one of the
    AMONG of pruning/fiak/selection.py.
    """

    scores: float = 0.7
    keys: float = 0.0
    prior: str = "pair"
    shared: str = "head"
    by: str = "prior"
    among: str = "layer"

    def __post_init__(self) -> None:
        for name, known in (("prior", PRIORS), ("shared", SHARED), ("by", CHOICES), ("among", AMONG)):
            if getattr(self, name) not in known:
                raise ValueError(f"{name} {getattr(self, name)!r}; allowed: {', '.join(known)}")
        if not (0 <= self.scores < 1 and 0 <= self.keys < 1):
            raise ValueError(f"scores {self.scores} and keys {self.keys}; allowed are numbers from 0 to below 1")
        if self.prior == "key" and (self.scores or not self.keys):
            raise ValueError(f"scores {self.scores} and keys {self.keys} with priors of keys; only keys can be pruned")
        if self.prior == "pair" and (not self.scores or self.keys > self.scores):
            raise ValueError(
                f"scores {self.scores} and keys {self.keys}; with priors of pairs, scores are pruned, at least as much "
                "as goes with the keys"
            )


def chosen(
    choice: Choice, layers: Sequence[PriorLayer], priors: Mapping[str, Tensor], seed: int = 0
) -> dict[str, KeptLayer]:
    """What is kept of every layer, such as `encoder.3`; the seed is that of the random control."""
    return {layer.name: _of_layer(choice, layer, _ranked(choice, priors[layer.name], seed, layer)) for layer in layers}


def _of_layer(choice: Choice, layer: PriorLayer, priors: Tensor) -> KeptLayer:
    visible = layer.visible()
    groups = layer.groups if choice.shared == "head" else (0,) * len(layer.heads)
    if choice.prior == "key":
        return key_pruning(priors, visible, choice.keys, groups)
    if choice.keys:
        return mixed_pruning(priors, visible, (choice.scores, choice.keys), groups, choice.among)
    return score_pruning(priors, visible, choice.scores, choice.among)


def _ranked(choice: Choice, priors: Tensor, seed: int, layer: PriorLayer) -> Tensor:
    if choice.by == "prior":
        return priors
    generator = torch.Generator().manual_seed(random.Random(f"{seed}/{layer.name}").getrandbits(63))
    return torch.rand(priors.shape, generator=generator)
