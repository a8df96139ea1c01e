"""Importance by relevance: how much of a prediction is traced back to a head."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from headscope.analysis.importance.method import Method, OfLayer, Portion, Values, Weights, on_grid, register
from headscope.models.devices import widest
from headscope.models.example_inputs import output_tensor
from headscope.models.head_model import HeadModel
from headscope.models.inputs import accepted, probe_inputs
from headscope.models.recording.head_outputs import Context, watching_contexts
from headscope.models.relevance.operations import AttentionRule
from headscope.models.relevance.rules import relevance_rules
from headscope.models.sites import Site
from headscope.tasks.batches.batching import IGNORED, Batch
from headscope.tasks.task import PerExample, Task, precise

TOLERANCE = 1e-3
"""The largest gap in conservation, in single precision, with which relevance is still trusted."""

Judged = Bool[Tensor, "example place"]


@register
@dataclass(frozen=True)
class Relevance(Method):
    """The share of a head in the relevance of its layer, I_h = E_x R_h(x) / sum_h' |R_h'(x)|, h' in the layer of h.

    R_h adds up the relevance of the head's output for the largest logit, Voita et al. 2019; `relevance_rules` says how
    it gets there. A place of a text is a prediction, and the logits of all labelled places are added up. Differs: the
    paper divides by the sum over the layer, which may be near 0, here by that of absolute values, and the sign stays;
    the paper does so for every predicted token, here for every example. A model in which relevance gets lost is
    refused.
    """

    key = "lrp"
    title = "Relevance (LRP)"
    reference = "Voita et al. 2019, with the rules of Ali et al. 2022"
    about = "The share of the prediction that is traced back to the head, among the heads of its layer."
    signed = True

    rule: AttentionRule = field(
        default="cp", metadata={"about": "Whether attention weights are constants (cp) or get relevance (attnlrp)."}
    )

    def check(self, head_model: HeadModel, task: Task) -> None:
        """Refuse a model in which relevance gets lost, seen on a few random inputs."""
        del task
        _refuse_losses(head_model, conservation(head_model, probe_inputs(head_model.model), self.rule))

    def of_batch(self, head_model: HeadModel, task: Task, batch: Batch) -> tuple[Values, Weights | None]:
        """The share of every head in every example."""
        del task
        judged = batch.labels != IGNORED if batch.labels.dim() == 2 else _read_places(batch)
        trace = traced(head_model, batch.inputs, judged, self.rule)
        _refuse_losses(head_model, trace.conservation)
        return on_grid(head_model, batch, {site: shares(found) for site, found in trace.layers.items()}), None

    def balance(self, head_model: HeadModel, task: Task, batch: Batch, found: Portion) -> dict[str, float]:
        """The relevance of the predictions, and where it arrives."""
        del task, found
        sums = conservation(head_model, batch.inputs, self.rule)
        return {"the predictions": sums.start, "the input": sums.end, "biases and positions": sums.biases}


@dataclass(frozen=True)
class Conservation:
    """Where the relevance of some predictions comes from: the sum of their logits, and what arrives.

    `end` arrived at the inputs, or at the embeddings that stand for them; `biases` at all that is added on the way:
    biases, embeddings of positions, learned tokens, persistent vectors.
    """

    start: float
    end: float
    biases: float

    @property
    def gap(self) -> float:
        """How much does not arrive, or arrives too much, relative to the largest of the three sums."""
        largest = max(abs(self.start), abs(self.end), abs(self.biases))
        return abs(self.start - self.end - self.biases) / largest if largest else 0.0


@dataclass(frozen=True, eq=False)
class Trace:
    """The relevance of the kept heads of every layer, in every example, and whether it adds up."""

    layers: Mapping[Site, OfLayer]
    conservation: Conservation


def conservation(head_model: HeadModel, inputs: Mapping[str, Tensor], rule: AttentionRule = "cp") -> Conservation:
    """Whether relevance adds up, for the largest logit at every place of the inputs that is not padding."""
    name = "decoder_attention_mask" if head_model.model.config.is_encoder_decoder else "attention_mask"
    mask = inputs.get(name)
    return traced(head_model, inputs, None if mask is None else mask.bool(), rule).conservation


def traced(
    head_model: HeadModel, inputs: Mapping[str, Tensor], judged: Judged | None = None, rule: AttentionRule = "cp"
) -> Trace:
    """Relevance for the largest logit of every example, or for the sum of those at the places that are judged.

    A model without logits is traced from its largest feature.
    """
    with relevance_rules(head_model.model, inputs, rule) as passing, watching_contexts(head_model) as contexts:
        outputs = head_model.model(**passing.inputs, **accepted(head_model.model, use_cache=False))
    start = top_choices(output_tensor(outputs), judged)
    tensors = [context.values for context in contexts]
    found = _relevances(start.sum(), [*tensors, *passing.entered, *passing.constants])
    n_contexts, n_entered = len(tensors), len(tensors) + len(passing.entered)
    sums = [_total(parts, start) for parts in ((start,), found[n_contexts:n_entered], found[n_entered:])]
    return Trace(_by_layer(contexts, found[:n_contexts]), Conservation(*torch.stack(sums).tolist()))


def _read_places(batch: Batch) -> Judged | None:
    """Where there is no padding, for a model that gives features at every place; None where all places are read."""
    mask = batch.inputs.get("attention_mask")
    return None if mask is None else mask.bool()


def top_choices(logits: Tensor, judged: Judged | None) -> PerExample:
    """The largest logit of every example, or the sum of those at its judged places."""
    largest = precise(logits).amax(dim=-1)
    if largest.dim() == 2 and judged is not None:
        largest = largest * judged
    return largest.flatten(1).sum(dim=1) if largest.dim() > 1 else largest


def shares(relevances: OfLayer) -> OfLayer:
    """R_h / sum_h' |R_h'|, row by row; a row of zeros stays."""
    totals: Float[Tensor, "example 1"] = relevances.abs().sum(dim=1, keepdim=True)
    return relevances / totals.where(totals > 0, 1.0)


def _relevances(start: Tensor, tensors: Sequence[Tensor]) -> list[Tensor]:
    """Of every tensor x df/dx, in double precision; 0 where nothing depends on it, however large it is."""
    gradients = torch.autograd.grad(start, tensors, materialize_grads=True)
    return [
        torch.where(gradient == 0, 0.0, _wide(tensor.detach()) * _wide(gradient))
        for tensor, gradient in zip(tensors, gradients, strict=True)
    ]


def _wide(values: Tensor) -> Tensor:
    return values.to(widest(values.device))


def _total(parts: Sequence[Tensor], like: Tensor) -> Tensor:
    """The sum of all numbers, on the device of `like`."""
    return sum((part.detach().sum() for part in parts), start=_wide(like.detach().new_zeros(())))


def _by_layer(contexts: Sequence[Context], found: Sequence[Tensor]) -> dict[Site, OfLayer]:
    """The relevances of contexts, summed over columns, positions and the calls of a layer."""
    layers: dict[Site, OfLayer] = {}
    for context, relevances in zip(contexts, found, strict=True):
        of_call = context.by_head(relevances).sum(dim=1)
        layers[context.site] = layers[context.site] + of_call if context.site in layers else of_call
    return layers


def _refuse_losses(head_model: HeadModel, found: Conservation) -> None:
    tolerance = max(TOLERANCE, 8 * torch.finfo(head_model.model.dtype).eps)
    if not found.gap <= tolerance:
        raise ValueError(
            f"of a relevance of {found.start:.4g} in {head_model.name} {found.end + found.biases:.4g} arrives; "
            "lrp has no rule for some operation of this model"
        )
