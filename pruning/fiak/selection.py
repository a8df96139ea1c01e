"""What is pruned: the three algorithms of FiAK as pure functions of learned priors.

Counts are exact, and of equal priors those of earlier positions (head, then query, then key) go first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import torch
from jaxtyping import Bool, Float
from torch import Tensor

Priors = Float[Tensor, "head query key"]
Visible = Bool[Tensor, "query key"]
KeyPriors = Float[Tensor, "head 1 key"]
KeptScores = Bool[Tensor, "head query key"]
KeptKeys = Bool[Tensor, "head key"]

AMONG = ("layer", "query")
"""The smallest of which scores go. The paper does not say; `layer` takes all scores of a layer, its heads together, as
the released code has one tensor of priors a layer. `query` takes the same fraction of the scores of every query and
head. That is ours, for texts of different lengths: later positions are in fewer of them, so their priors move less.
"""


@dataclass(frozen=True, eq=False)
class KeptLayer:
    """The scores of a layer that are left, and the keys of which any may be.

    A score that does not exist, since its key comes later, is not kept; a kept key may have lost all its scores.
    """

    scores: KeptScores
    keys: KeptKeys

    @classmethod
    def of_keys(cls, keys: KeptKeys, visible: Visible) -> KeptLayer:
        """All scores of the keys that are kept."""
        return cls(visible & keys[:, None], keys)

    @property
    def n_scores(self) -> int:
        """How many scores are left."""
        return int(self.scores.sum())

    @property
    def n_keys(self) -> int:
        """How many keys are left, added up over the heads."""
        return int(self.keys.sum())


def count_of(fraction: float, n: int) -> int:
    """So much of n things, to the nearest whole number; a half is rounded up."""
    _check(fraction)
    return _nearest(Fraction(str(fraction)) * n)


def corrected_fraction(scores: float, keys: float) -> Fraction:
    """k1' = 1 - (1 - k1) / (1 - k2): so much of what is left after k2 of the keys makes k1 of all scores."""
    if not 0 <= keys <= scores < 1:
        raise ValueError(
            f"scores {scores} and keys {keys}; with mixed pruning both are below 1 and scores at least as much as keys"
        )
    return 1 - (1 - Fraction(str(scores))) / (1 - Fraction(str(keys)))


def score_pruning(priors: Priors, visible: Visible, scores: float, among: str = "layer") -> KeptLayer:
    """Algorithm 1: the fraction `scores` of the scores with the smallest |pi_ij| goes; `among` is one of AMONG."""
    _check(scores)
    every = torch.ones(priors.shape[0], priors.shape[2], dtype=torch.bool)
    return _fewer_scores(priors, KeptLayer.of_keys(every, visible), Fraction(str(scores)), among)


def mixed_pruning(
    priors: Priors, visible: Visible, fractions: tuple[float, float], groups: Sequence[int], among: str = "layer"
) -> KeptLayer:
    """Algorithm 2: of the fractions (scores, keys), first the keys with the smallest S(j), then k1' of what is left.

    S(j) = sum_i |pi_ij|; where queries see no later key, the sum has N - j + 1 terms (j counted from 1) and is divided
    by their number.
    """
    rest = corrected_fraction(*fractions)
    kept = KeptLayer.of_keys(fewer_keys(key_sums(priors, visible), fractions[1], groups), visible)
    return _fewer_scores(priors, kept, rest, among)


def key_pruning(priors: KeyPriors, visible: Visible, keys: float, groups: Sequence[int]) -> KeptLayer:
    """Algorithm 3: the fraction `keys` of the keys with the smallest |pi_j| goes."""
    return KeptLayer.of_keys(fewer_keys(priors[:, 0].abs(), keys, groups), visible)


def key_sums(priors: Priors, visible: Visible) -> Float[Tensor, "head key"]:
    """S(j) of every key; a causal one is divided by the number of queries that see it."""
    sums = (priors.abs() * visible).sum(1)
    causal = not bool(visible.all())
    return sums / visible.sum(0) if causal else sums


def fewer_keys(weights: Float[Tensor, "head key"], fraction: float, groups: Sequence[int]) -> KeptKeys:
    """Without the fraction of keys of the smallest weight, that of all heads which share a key added up.

    `groups` numbers for every head the keys that it reads: each head its own, or all the same.
    """
    shared = torch.zeros(max(groups) + 1, weights.shape[1], dtype=weights.dtype)
    shared.index_add_(0, torch.tensor(groups), weights)
    gone = torch.stack([lowest(row, count_of(fraction, len(row))) for row in shared])
    return ~gone[list(groups)]


def lowest(values: Float[Tensor, " n"], n: int) -> Bool[Tensor, " n"]:
    """The n lowest of the values; of equal ones the first."""
    chosen = torch.zeros(len(values), dtype=torch.bool)
    chosen[torch.argsort(values, stable=True)[:n]] = True
    return chosen


def _fewer_scores(priors: Priors, kept: KeptLayer, fraction: Fraction, among: str) -> KeptLayer:
    """Without the fraction of the scores of the smallest prior among those that are left."""
    scores = kept.scores.clone()
    n_heads, n_queries, _ = scores.shape
    n_sets = 1 if among == "layer" else n_heads * n_queries
    for own, prior in zip(scores.view(n_sets, -1), priors.abs().reshape(n_sets, -1), strict=True):
        places = own.nonzero().flatten()
        own[places[lowest(prior[places], _nearest(fraction * len(places)))]] = False
    return KeptLayer(scores, kept.keys)


def _nearest(number: Fraction) -> int:
    return int(number + Fraction(1, 2))


def _check(fraction: float) -> None:
    if not 0 <= fraction < 1:
        raise ValueError(f"a fraction of {fraction}; allowed is a number from 0 up to, but not including, 1")
