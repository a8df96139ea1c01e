"""Importance by weights and activations: how loudly a head speaks."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn
from transformers.pytorch_utils import Conv1D

from headscope.analysis.importance.method import Method, OfLayer, Values, Weights, on_grid, register
from headscope.analysis.importance.positions import counted_positions
from headscope.models.head_model import HeadModel
from headscope.models.inputs import accepted
from headscope.models.recording.head_outputs import Columns, Context, watching_contexts
from headscope.models.sites import Site
from headscope.tasks.batches.batching import Batch
from headscope.tasks.task import Task


@register
@dataclass(frozen=True)
class Wanda(Method):
    """Weight times activation at the output projection, added up over a head, after Sun et al. 2023.

    I_h = E_x sum_j in h ||x_j|| sum_i |W_ij|, W the output projection, x_j its input column j, ||x_j|| the root mean
    square over the tokens of the example; the calls of a layer that runs several times add up. Ours: Wanda scores
    single weights, and takes the norm over all calibration tokens; here the weights of a head are one score, and every
    example counts alike. Forward passes only, no labels.
    """

    key = "wanda"
    title = "Weight times activation"
    reference = "ours, after Sun et al. 2023 (Wanda)"
    about = "How much the head adds to the hidden states: its output times the weights that read it."

    @torch.no_grad()
    def of_batch(self, head_model: HeadModel, task: Task, batch: Batch) -> tuple[Values, Weights | None]:
        """The score of every example."""
        del task
        counted = counted_positions(batch)
        with watching_contexts(head_model) as contexts:
            head_model.model(**batch.inputs, **accepted(head_model.model, use_cache=False))
        layers: dict[Site, OfLayer] = {}
        for context in contexts:
            loudness = of_context(context, read_weights(head_model, context.site), counted[context.site.bank][0])
            layers[context.site] = layers[context.site] + loudness if context.site in layers else loudness
        return on_grid(head_model, batch, layers), None


def of_context(context: Context, weights: Float[Tensor, " column"], counted: Tensor | None) -> OfLayer:
    """Root mean square of every column over the positions that count, times its weights, summed over each head."""
    squares = context.values.to(weights.dtype).square()
    if counted is None:
        counted = torch.ones(squares.shape[:2], dtype=torch.bool, device=squares.device)
    n_positions = counted.sum(dim=1, keepdim=True)
    mean_squares: Columns = (squares * counted[..., None]).sum(dim=1, keepdim=True) / n_positions[..., None]
    return context.by_head(mean_squares.sqrt() * weights).squeeze(1)


def read_weights(head_model: HeadModel, site: Site) -> Float[Tensor, " column"]:
    """sum_i |W_ij| of every input column j of an output projection, in single precision at least."""
    output: nn.Module = head_model.model.get_submodule(site.output)
    weight = output.get_parameter("weight").abs()  # [output, column], but [column, output] in Conv1D
    dtype = torch.promote_types(weight.dtype, torch.float32)
    return weight.sum(dim=1 if isinstance(output, Conv1D) else 0, dtype=dtype)
