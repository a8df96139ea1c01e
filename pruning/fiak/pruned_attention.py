"""Attention without the scores that were pruned: masked, for comparison, and really computed less."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import torch
from jaxtyping import Bool
from torch import Tensor

from headscope.models.head_model import HeadModel
from headscope.pruning.fiak.attention_rule import Answer, Call, Rule, closed, lowest, with_rules
from headscope.pruning.fiak.layers import PriorLayer
from headscope.pruning.fiak.picked_keys import Open, Picked, blocks, picked
from headscope.pruning.fiak.projections import key_rows, skip_projections
from headscope.pruning.fiak.selection import KeptLayer

WRITTEN_OUT = ("eager", "sdpa")
"""Attention that may be given fewer keys; for anything else, such as what watches attention, scores are masked."""


def without_scores(
    head_model: HeadModel, layers: Sequence[PriorLayer], kept: Mapping[str, KeptLayer], form: str = "dot"
) -> HeadModel:
    """A copy without priors that computes only what is kept, by layer (such as `encoder.3`), as far as it can.

    Keys that no query of a head needs are not attended to, and keys that no head of a layer needs are not even made.
    Heads cannot be removed from such a model any more: remove them first.
    """
    rules = {layer.core: KeptAttention(layer, form, kept[layer.name]) for layer in layers}
    smaller = with_rules(head_model, rules)
    rows = key_rows(head_model, rules.keys(), min(layer.length for layer in layers))
    skip_projections(smaller.model, rows, {core: rule.keys.any(dim=0) for core, rule in rules.items()})
    return smaller


def masked(
    head_model: HeadModel, layers: Sequence[PriorLayer], kept: Mapping[str, KeptLayer], form: str = "dot"
) -> HeadModel:
    """A copy without priors that computes everything and masks what is pruned: what `without_scores` must equal."""
    return with_rules(head_model, {layer.core: MaskedAttention(layer, form, kept[layer.name]) for layer in layers})


class MaskedAttention(Rule):
    """Dense attention in which every pruned score is masked; the priors of the others are one.

    A query that has no key left gets zeros from its head: the posterior under a prior that is zero everywhere.
    """

    def __init__(self, layer: PriorLayer, form: str, kept: KeptLayer) -> None:
        super().__init__(layer, form)
        self.keys: Bool[Tensor, "head key"]
        self.scores: Open | None
        needed = kept.scores.any(dim=1)
        whole = torch.equal(kept.scores, layer.visible() & needed[:, None])
        self.register_buffer("keys", needed, persistent=False)
        self.register_buffer("scores", None if whole else kept.scores, persistent=False)

    def open(self, rows: slice, n_tokens: int) -> Open:
        """The scores that are kept of some queries and the first keys."""
        if self.scores is not None:
            return self.scores[:, rows, :n_tokens]
        return self.visible(rows, n_tokens) & self.keys[:, None, :n_tokens]

    def visible(self, rows: slice, n_tokens: int) -> Bool[Tensor, "query key"]:
        """The scores that exist of some queries and the first keys."""
        return self.layer.visible().to(self.keys.device)[rows, :n_tokens]

    def attend(self, call: Call) -> Answer:
        """Everything is computed."""
        rows, n_tokens = self.places(call)
        return self._attend_to(call, torch.nn.functional.pad(self.open(rows, n_tokens), (self.front, 0), value=True))

    def _attend_to(self, call: Call, open_: Open | None) -> Answer:
        """Attends to the open scores only."""
        call = self.scored(call, None)
        if open_ is not None:
            dtype, mask = call.query.dtype, call.mask
            shut = closed(open_, dtype)[None] if mask is None else mask.masked_fill(~open_, lowest(dtype))
            call = replace(call, mask=shut)
        output, attention = call.attend()
        return output if call.mask is None else output * _alive(call.mask), attention


class KeptAttention(MaskedAttention):
    """Attention that is given only the keys which its queries need; other pruned scores are masked among those.

    Where the queries of a block need few keys in common, each block has its own. Scores that are pruned here and there
    leave nothing out: then the mask does all the work, and the layer costs what a dense one costs.
    """

    def __init__(self, layer: PriorLayer, form: str, kept: KeptLayer) -> None:
        super().__init__(layer, form, kept)
        self._plans: dict[tuple[int, torch.device], list[tuple[slice, Picked]]] = {}

    def attend(self, call: Call) -> Answer:
        """Gathers keys, values and what is added to scores, then attends."""
        if call.implementation not in WRITTEN_OUT:
            return super().attend(call)
        rows, n_tokens = self.places(call)
        call = replace(call, mask=call.additive())
        plan = self._plan(n_tokens)
        if rows.start:  # the queries after those in a cache
            keys = plan[0][1] if len(plan) == 1 else self._whole(n_tokens)[1]
            some = replace(keys, open=None if keys.open is None else keys.open[:, rows])
            return self._attend_picked(call, some), None
        parts = [self._attend_picked(_queries(call, part), keys) for part, keys in plan]
        return (parts[0] if len(parts) == 1 else torch.cat(parts, dim=1)), None

    def visible_computed(self) -> int:
        """How many scores an input of full length computes, but for those that the model's own mask hides."""
        visible = self.visible(slice(None), self.length)
        count = 0
        for part, keys in self._plan(self.length):
            index = (keys.index[..., self.front :] - self.front).expand(max(self.layer.groups) + 1, -1)
            count += sum(int(visible[part][:, index[group]].sum()) for group in self.layer.groups)
        return count

    def _attend_picked(self, call: Call, keys: Picked) -> Tensor:
        """The output of some queries."""
        if keys.n == 0:
            shape = (call.query.shape[0], call.query.shape[2], call.query.shape[1], call.value.shape[3])
            return call.value.new_zeros(shape)
        groups, options = self.layer.groups, dict(call.options)
        if options.get("position_bias") is not None:
            options["position_bias"] = keys.of_scores(options["position_bias"], self._bias_groups(call))
        mask = None if call.mask is None else keys.of_scores(call.mask, groups)
        fewer = Call(call.core, call.query, keys.of_keys(call.key), keys.of_keys(call.value), mask, options)
        return self._attend_to(fewer, keys.open)[0]

    def _bias_groups(self, call: Call) -> Sequence[int]:
        """The key head of every head in the position bias, which has those of removed heads still."""
        numbers = getattr(call.core, "position_bias_index", None) or range(len(self.layer.groups))
        own = dict(zip(numbers, self.layer.groups, strict=True))
        return [own.get(head, 0) for head in range(call.options["position_bias"].shape[1])]

    def _plan(self, n_tokens: int) -> list[tuple[slice, Picked]]:
        """For inputs of so many tokens, which queries are given which keys."""
        asked = n_tokens, self.keys.device
        if asked not in self._plans:
            with torch.inference_mode(False):  # what is kept may take part in training later
                whole, tokens = self._whole(n_tokens), slice(0, n_tokens)
                parts = blocks(self.open(tokens, n_tokens), self.visible(tokens, n_tokens), self.front, whole[1])
                self._plans[asked] = parts or [whole]
        return self._plans[asked]

    def _whole(self, n_tokens: int) -> tuple[slice, Picked]:
        tokens = slice(0, n_tokens)
        open_, visible = self.open(tokens, n_tokens), self.visible(tokens, n_tokens)
        return tokens, picked(open_, visible, self.layer.groups, self.front)


def _queries(call: Call, rows: slice) -> Call:
    """The call for some of its queries."""
    if rows == slice(0, call.query.shape[2]):
        return call
    options = dict(call.options)
    if options.get("position_bias") is not None:
        options["position_bias"] = _rows(options["position_bias"], rows)
    return replace(call, query=call.query[:, :, rows], mask=_rows(call.mask, rows), options=options)


def _rows(scores: Tensor | None, rows: slice) -> Tensor | None:
    return scores if scores is None or scores.shape[2] == 1 else scores[:, :, rows]


def _alive(mask: Tensor) -> Tensor:
    """One for every query that may see a key, zero for others, as [batch, query, head, 1]."""
    seen = mask.amax(dim=-1) > lowest(mask.dtype) / 2
    return seen.transpose(1, 2)[..., None].to(mask.dtype)
