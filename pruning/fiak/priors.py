"""Priors in the attention of a model: every key is a component of a mixture that the query was drawn from.

p(q_i) = sum_j pi_ij N(q_i | k_j, s^2 I), and attention is the posterior of the components:

    A_ij = pi_ij exp(-|q_i - k_j|^2 / 2 s^2) / sum_j' pi_ij' exp(-|q_i - k_j'|^2 / 2 s^2),   s^2 = sqrt(d_head)

Nguyen et al. 2023, "A probabilistic framework for pruning transformers via a finite admixture of keys". `pair` has a
prior for every query and key, `key` one for every key (a Gaussian mixture that all queries share).

|q - k|^2 = |q|^2 - 2 q'k + |k|^2, and |q|^2 cancels in the posterior. So the form of the paper is dot-product attention
with log pi_ij - |k_j|^2 / 2 s^2 added to the scores. Models that exist were trained without |k|^2: for them there is
the form without it, which is ours and called FiAK-style; an even prior leaves such a model as it is.

As in the released code, a prior is |pi| cut to at most 1 and rows need not sum to one. Differs: the code multiplies
exponentials and adds 1e-6 to their sum; we add logarithms, cut |pi| to at least 1e-6, and have no 1e-6 in the sum.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor, nn

from headscope.models.head_model import HeadModel
from headscope.pruning.fiak.attention_rule import Answer, Call, Rule, rule_of, with_rules
from headscope.pruning.fiak.layers import PriorLayer

FLOOR = 1e-6
PACE = 100.0
"""How many times its own rate the optimizer moves a prior, in units of the initial prior."""

PRIORS = ("pair", "key")
Values = Float[Tensor, "head query key"]


class PriorAttention(Rule):
    """Attention with the logarithms of priors added to the scores.

    What is learned is how far a prior has moved: pi = (1 + PACE theta) / sqrt(N). So priors of any length begin at
    their initial value, and a step of the optimizer moves them by the same share of it. Keys that a layer puts before
    those of the tokens keep the initial prior.
    """

    def __init__(self, layer: PriorLayer, prior: str, form: str) -> None:
        super().__init__(layer, form)
        if prior not in PRIORS:
            raise ValueError(f"no prior {prior!r}; allowed: {', '.join(PRIORS)}")
        n_queries = layer.length if prior == "pair" else 1
        self.theta = nn.Parameter(torch.zeros(len(layer.heads), n_queries, layer.length))

    def attend(self, call: Call) -> Answer:
        """The posterior times the values."""
        rows, n_tokens = self.places(call)
        theta = self.theta[:, rows if self.theta.shape[1] > 1 else slice(None), :n_tokens]
        added = self._pi(theta).abs().clamp(FLOOR, 1).log().to(call.query.dtype)
        if self.front:
            added = nn.functional.pad(added, (self.front, 0), value=math.log(self.layer.initial))
        return self.scored(call, added[None]).attend()

    def pi(self) -> Values:
        """The priors as they are learned, with their signs."""
        return self._pi(self.theta)

    def _pi(self, theta: Tensor) -> Tensor:
        return (1 + PACE * theta) * self.layer.initial


def with_priors(
    head_model: HeadModel, layers: Sequence[PriorLayer], prior: str = "pair", form: str = "dot"
) -> HeadModel:
    """A copy of the model with even priors, to be trained with the rest of its parameters."""
    dtype = torch.promote_types(head_model.model.dtype, torch.float32)
    return with_rules(head_model, {layer.core: PriorAttention(layer, prior, form).to(dtype) for layer in layers})


def priors_of(head_model: HeadModel, layers: Sequence[PriorLayer]) -> dict[str, Values]:
    """The learned priors by layer, such as `encoder.3`."""
    found: dict[str, Values] = {}
    for layer in layers:
        rule = rule_of(head_model, layer.core)
        if not isinstance(rule, PriorAttention):
            raise ValueError(f"{layer.core} has no priors any more; its scores were pruned")
        found[layer.name] = rule.pi().detach().cpu()
    return found
