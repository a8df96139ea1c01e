"""A rule of ours between an attention layer and the function that computes its attention.

The rule of a layer is a module inside the attention module, and the attention module gets a configuration of its own
that names our function; what the model as a whole is set to (eager, sdpa, or watched by
headscope/models/recording/maps.py) is still what attends in the end. This is how headscope/models/shrink.py does it,
and a layer may have both.
"""

from __future__ import annotations

import copy
import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn
from transformers import AttentionInterface
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

from headscope.models.gating import uninstall
from headscope.models.head_model import HeadModel
from headscope.pruning.fiak.layers import PriorLayer

NAME = "headscope_fiak"
RULE = "fiak"
"""What the rule is called inside the attention module."""

Answer = tuple[Tensor, Tensor | None]


@dataclass(frozen=True, eq=False)
class Call:
    """One call of a layer's attention.

    `query` is [batch, head, query, d_head], `key` and `value` are [batch, key head, key, d_head]. `mask` is None,
    boolean or added to the scores, as the attention that the model is set to would get it.
    """

    core: Any
    query: Tensor
    key: Tensor
    value: Tensor
    mask: Tensor | None
    options: Mapping[str, Any]

    @property
    def implementation(self) -> str:
        """What the model is set to."""
        return str(self.core.stack_config._attn_implementation)

    @property
    def scaling(self) -> float:
        """What scores are multiplied by."""
        given = self.options.get("scaling")
        return float(self.query.shape[-1] ** -0.5 if given is None else given)

    def attend(self) -> Answer:
        """Computes the attention as the model is set to."""
        eager = inspect.unwrap(type(self.core).forward).__globals__["eager_attention_forward"]
        function = ALL_ATTENTION_FUNCTIONS.get_interface(self.core.next_attention or self.implementation, eager)
        output, attention = function(self.core, self.query, self.key, self.value, self.mask, **self.options)
        return output, attention

    def additive(self) -> Tensor | None:
        """The mask as numbers to add to scores; None where every key may be seen."""
        mask, n_queries, n_keys = self.mask, self.query.shape[2], self.key.shape[2]
        causal = self.options.get("is_causal")
        causal = getattr(self.core, "is_causal", True) if causal is None else causal
        if mask is None and causal and n_queries > 1:
            mask = torch.ones(n_queries, n_keys, dtype=torch.bool, device=self.query.device)
            mask = mask.tril(n_keys - n_queries)[None, None]
        if mask is None or mask.dtype == torch.bool:
            return None if mask is None else closed(mask, self.query.dtype)
        return mask.clamp(min=lowest(mask.dtype)) if mask.dtype == torch.float64 else mask


def closed(open_: Tensor, dtype: torch.dtype) -> Tensor:
    """Zero where a score is open, and the lowest number elsewhere."""
    return torch.zeros(open_.shape, dtype=dtype, device=open_.device).masked_fill(~open_, lowest(dtype))


def lowest(dtype: torch.dtype) -> float:
    """What masks a score: finite in single precision too, in which some models compute every softmax."""
    return max(torch.finfo(dtype).min, torch.finfo(torch.float32).min)


def squared_norms(call: Call, groups: Sequence[int]) -> Tensor:
    """-|k_j|^2 / 2 s^2 of the key that each head reads, [batch, head, 1, key]; s^2 is one over the scaling."""
    norms = call.key.square().sum(-1)[:, list(groups)]  # [batch, head, key]
    return -call.scaling / 2 * norms[:, :, None]


FORMS: Mapping[str, Callable[[Call, Sequence[int]], Tensor] | None] = {"dot": None, "distance": squared_norms}
"""How a score is made, and what is added to it that depends on the key alone; see pruning/fiak/priors.py."""


class Rule(nn.Module, ABC):
    """What happens to the attention of one layer, which is of one of the FORMS."""

    def __init__(self, layer: PriorLayer, form: str) -> None:
        super().__init__()
        if form not in FORMS:
            raise ValueError(f"no form {form!r} of attention with priors; allowed: {', '.join(FORMS)}")
        self.layer, self.form = layer, form
        self.length, self.front = layer.length, layer.front

    @abstractmethod
    def attend(self, call: Call) -> Answer:
        """The output [batch, query, head, d_head], and the attention where it is known."""

    def scored(self, call: Call, added: Tensor | None) -> Call:
        """The call with its mask, what its form adds, and these further numbers added to its scores."""
        of_keys = FORMS[self.form]
        terms = [added, call.additive(), None if of_keys is None else of_keys(call, self.layer.groups)]
        given = [term for term in terms if term is not None]
        return replace(call, mask=sum(given[1:], given[0])) if given else call

    def places(self, call: Call) -> tuple[slice, int]:
        """Which tokens the queries of a call are, and how many tokens it has as keys.

        The queries are the last tokens: all of them, or those after the ones in a cache. Inputs shorter than N are the
        beginning of one of length N; padding comes after the text.
        """
        n_tokens = call.key.shape[2] - self.front
        if n_tokens > self.length:
            raise ValueError(f"an input of {n_tokens} tokens; these priors are for at most {self.length}")
        return slice(n_tokens - call.query.shape[2], n_tokens), n_tokens


def with_rules(head_model: HeadModel, rules: Mapping[str, Rule]) -> HeadModel:
    """A copy of the model whose attention modules, by their paths, follow these rules; others stay as they are."""
    model = copy.deepcopy(head_model.model)
    uninstall(model)
    for path, rule in rules.items():
        _attach(model.get_submodule(path), rule.to(model.device))
    return replace(head_model, model=model)


def rule_of(head_model: HeadModel, core: str) -> Rule:
    """The rule of the attention module at this path."""
    rule = getattr(head_model.model.get_submodule(core), RULE, None)
    if not isinstance(rule, Rule):
        raise ValueError(f"{core} has no priors; make them first")
    return rule


def _attach(core: Any, rule: Rule) -> None:
    if not isinstance(getattr(core, RULE, None), Rule):
        shrunk = hasattr(core, "stack_config")
        core.next_attention = core.config._attn_implementation if shrunk else None
        core.stack_config = core.stack_config if shrunk else core.config
        core.config = copy.copy(core.config)
        core.config._attn_implementation_internal = NAME
    setattr(core, RULE, rule)


def _follow_rule(
    module: Any, query: Tensor, key: Tensor, value: Tensor, attention_mask: Tensor | None, **options: Any
) -> Answer:
    rule: Rule = getattr(module, RULE)
    return rule.attend(Call(module, query, key, value, attention_mask, options))


AttentionInterface.register(NAME, _follow_rule)
