"""What pruned scores and keys save: counted, not timed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor

from headscope.models.head_model import HeadModel
from headscope.models.inputs import accepted, sized_inputs
from headscope.pruning.evaluation.cost import Costs
from headscope.pruning.evaluation.peak_memory import peak_bytes
from headscope.pruning.export.proof import attending, attention_implementations
from headscope.pruning.fiak.attention_rule import rule_of
from headscope.pruning.fiak.layers import PriorLayer, prior_layers
from headscope.pruning.fiak.pruned_attention import KeptAttention
from headscope.pruning.fiak.ratios import OPERATIONS_A_SCORE
from headscope.pruning.fiak.selection import KeptLayer
from headscope.pruning.masks import HeadMask


@dataclass(frozen=True)
class Savings:
    """Scores and keys before and after, and what one pass over one example of full length costs.

    `flops` is what our attention does; `flops_if_skipped` what it would do if a pruned score cost nothing wherever it
    lies, as papers count. `memory` is the most that tensors hold at a time, weights included, in bytes, with attention
    written out. Before is the whole model; `flops_headless` is what it does without the heads that were removed first.
    """

    scores: int
    scores_kept: int
    keys: int
    keys_kept: int
    flops_dense: int
    flops: int
    flops_if_skipped: int
    memory_dense: int
    memory: int
    flops_headless: int

    def to_json(self) -> dict[str, Any]:
        """As plain numbers."""
        return asdict(self)


def savings(
    dense: HeadModel,
    pruned: HeadModel,
    layers: Sequence[PriorLayer],
    kept: Mapping[str, KeptLayer],
    headless: HeadModel | None = None,
) -> Savings:
    """The dense model beside the one that computes only what is kept.

    `layers` are those of the pruned one; `headless` is the dense one without heads that were removed first, if any.
    """
    length = text_length(dense, layers)
    flops = [Costs.of(one, length).under(HeadMask(one.grid)).flops for one in (dense, pruned)]
    before = layers if headless is None else prior_layers(dense, max(layer.length for layer in layers))
    wasted = sum(_wasted(pruned, layer, kept[layer.name]) for layer in layers)
    return Savings(
        scores=sum(len(layer.heads) * int(layer.visible().sum()) for layer in before),
        scores_kept=sum(one.n_scores for one in kept.values()),
        keys=sum(len(layer.heads) * layer.length for layer in before),
        keys_kept=sum(one.n_keys for one in kept.values()),
        flops_dense=flops[0],
        flops=flops[1],
        flops_if_skipped=flops[1] - wasted,
        memory_dense=peak_memory(dense, length),
        memory=peak_memory(pruned, length),
        flops_headless=flops[0] if headless is None else Costs.of(headless, length).under(HeadMask(dense.grid)).flops,
    )


def text_length(head_model: HeadModel, layers: Sequence[PriorLayer]) -> int:
    """Tokens of the longest input; 1 where inputs are no text and have the size they have."""
    reads_text = head_model.model.main_input_name == "input_ids"
    return max(layer.length for layer in layers) if reads_text else 1


def peak_memory(head_model: HeadModel, length: int, batch: int = 1) -> int:
    """The most that a pass holds, in bytes."""
    inputs = sized_inputs(head_model.model, batch, length)
    with attending(head_model.model, attention_implementations(head_model.model)[0]):
        return peak_bytes(head_model.model, partial(_run, head_model, inputs))


def _wasted(pruned: HeadModel, layer: PriorLayer, kept: KeptLayer) -> int:
    """Operations on pruned scores that are computed all the same; what the model's own mask hides is not counted."""
    rule = rule_of(pruned, layer.core)
    if not isinstance(rule, KeptAttention):
        raise ValueError(f"{layer.core} computes every score; make the smaller model first")
    return OPERATIONS_A_SCORE * layer.width * (rule.visible_computed() - kept.n_scores)


def _run(head_model: HeadModel, inputs: Mapping[str, Tensor]) -> None:
    with torch.inference_mode():
        head_model.model(**inputs, **accepted(head_model.model, use_cache=False))
