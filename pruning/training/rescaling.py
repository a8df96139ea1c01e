"""Repair without training: one scale for every head that stays, so that its layer gives what it gave with all heads."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from transformers.pytorch_utils import Conv1D

from headscope.models.devices import widest
from headscope.models.gating import gated
from headscope.models.head_model import HeadModel
from headscope.models.heads import HeadId
from headscope.models.inputs import accepted
from headscope.models.recording.head_outputs import Columns, watching_contexts
from headscope.models.sites import Site
from headscope.pruning.masks import HeadMask
from headscope.pruning.surgery import without_heads
from headscope.tasks.batches.batching import IGNORED, Batch
from headscope.tasks.batches.masked_losses import Gates, open_gates, repeated
from headscope.tasks.task import Task

LARGEST = 10.0
"""A scale is never farther from 0, Kwon et al. 2022."""

NEGLIGIBLE = 1e-10
"""A layer whose output is off by less than this share of its square has nothing to repair."""

SMALLEST_DIRECTION = 1e-10
"""Combinations of heads whose square is a smaller share of the largest one are too faint to be solved for."""

Weight = Float[Tensor, "column d_model"]
Counted = Bool[Tensor, "example position"]


@dataclass(frozen=True)
class Fit:
    """The scales of the heads that stay in one layer.

    The errors are ||Y - Z||^2 / ||Y||^2, Y what the layer gives with all heads of the model, Z what it gives without
    the removed ones, with scales 1 and with these.
    """

    heads: tuple[HeadId, ...]
    scales: tuple[float, ...]
    error_before: float
    error_after: float


def repair(head_model: HeadModel, task: Task, mask: HeadMask, n: int = 128) -> Generator[Fit, None, Gates]:
    """The same as `rescaling`, from the first n examples for calibration."""
    budget = max(1, task.budget(head_model) // 2)  # every example runs twice
    return rescaling(head_model, mask, list(task.batches(head_model, "calibration", n, budget)))


def rescaling(head_model: HeadModel, mask: HeadMask, batches: Sequence[Batch]) -> Generator[Fit, None, Gates]:
    """Scales for every layer in the order of the forward pass; returns gates, 0 for removed heads, for `gated`.

    argmin over s of sum_t ||Y_t - sum_h s_h z_th W_h||^2, over all positions t of the batches; z_h is what head h gives
    after the layers before were pruned and rescaled, W_h the columns of the output projection that read it, Y_t the
    layer's output in the unpruned model without its bias. The mask tuning of Kwon et al. 2022. Differs: the paper adds
    the residual stream to both sides, and stops at the first layer with a scale beyond 10; here the step from 1 to the
    solution is shortened, so that a layer is never farther from its output than with scales 1. One example is as good
    as the next, and nothing but sums is kept of it.
    """
    gates = open_gates(head_model, 1)[0] * mask.as_gates(head_model.device)
    for site in head_model.sites:
        heads = tuple(HeadId(site.bank, site.layer, head) for head in site.kept)
        staying = [place for place, head in enumerate(heads) if head not in mask]
        if not staying:
            continue
        sums = Sums.empty(site, head_model)
        for batch in batches:
            sums.add_batch(head_model, batch, gates)
        scales, before, after = sums.solved(staying)
        names = tuple(heads[place] for place in staying)
        gates[[head_model.grid.positions[head] for head in names]] = scales.to(gates)
        yield Fit(names, tuple(scales.tolist()), before, after)
    return gates


def folded(head_model: HeadModel, mask: HeadMask, gates: Gates) -> HeadModel:
    """The really smaller model with the gates of the heads that stay multiplied into its output projections."""
    smaller = without_heads(head_model, mask)
    for site in smaller.sites:
        if site.kept:
            output = smaller.model.get_submodule(site.output)
            weight = output.get_parameter("weight")
            places = [smaller.grid.positions[HeadId(site.bank, site.layer, head)] for head in site.kept]
            columns = gates[places].to(weight).repeat_interleave(site.width)
            with torch.no_grad():
                weight.mul_(columns[:, None] if isinstance(output, Conv1D) else columns)
    return smaller


@dataclass(eq=False)
class Sums:
    """The normal equations of one layer: products of what its heads give with each other and with the wanted output."""

    site: Site
    weight: Weight
    among_heads: Float[Tensor, "head head"]
    with_wanted: Float[Tensor, " head"]
    of_wanted: Float[Tensor, ""]

    @classmethod
    def empty(cls, site: Site, head_model: HeadModel) -> Sums:
        """Before the first batch; in double precision where the device has it."""
        output = head_model.model.get_submodule(site.output)
        weight = output.get_parameter("weight")
        precise = weight.detach().to(widest(weight.device))
        columns = precise if isinstance(output, Conv1D) else precise.T
        n_heads = len(site.kept)
        sizes: list[tuple[int, ...]] = [(n_heads, n_heads), (n_heads,), ()]
        return cls(site, columns, *(columns.new_zeros(size) for size in sizes))

    @torch.no_grad()
    def add_batch(self, head_model: HeadModel, batch: Batch, gates: Gates) -> None:
        """Runs a batch with all heads and under the gates, side by side, and adds what this layer gave."""
        rows = torch.stack([torch.ones_like(gates), gates]).repeat_interleave(len(batch), dim=0)
        with watching_contexts(head_model) as contexts, gated(head_model, rows):
            head_model.model(**repeated(batch, 2).inputs, **accepted(head_model.model, use_cache=False))
        for context in contexts:
            if context.site is self.site:
                whole, pruned = context.values.chunk(2)
                self.add(whole, pruned, counted_positions(batch, self.site.bank))

    def add(self, whole: Columns, pruned: Columns, counted: Counted | None) -> None:
        """Adds the positions that count of what the heads gave in the unpruned and in the pruned model."""
        if counted is not None:
            whole, pruned = (values.where(counted[..., None], 0.0) for values in (whole, pruned))
        context = pruned.to(self.weight).flatten(0, 1)  # [position, column]
        wanted = whole.to(self.weight).flatten(0, 1) @ self.weight  # [position, d_model]
        products = (context.T @ context) * (self.weight @ self.weight.T)  # [column, column]
        sizes = (len(self.site.kept), self.site.width)
        self.among_heads += products.unflatten(0, sizes).unflatten(2, sizes).sum(dim=(1, 3))
        self.with_wanted += (context * (wanted @ self.weight.T)).sum(dim=0).unflatten(0, sizes).sum(dim=1)
        self.of_wanted += wanted.square().sum()

    def solved(self, staying: Sequence[int]) -> tuple[Float[Tensor, " kept"], float, float]:
        """The scales of the heads at these places, and the error with scales 1 and with them."""
        among, wanted, energy = (sums.cpu().double() for sums in (self.among_heads, self.with_wanted, self.of_wanted))
        among, wanted = among[list(staying)][:, list(staying)], wanted[list(staying)]
        ones = torch.ones_like(wanted)
        scales = bounded(1 + smallest_step(among, wanted - among @ ones))

        def error(at: Tensor) -> float:
            off = energy - 2 * wanted @ at + at @ among @ at
            return float((off / energy).clamp(min=0)) if energy > 0 else 0.0

        before, after = error(ones), error(scales)
        if before < NEGLIGIBLE or not after < before:
            return ones, before, before
        return scales, before, after


def smallest_step(among: Float[Tensor, "head head"], lack: Float[Tensor, " head"]) -> Float[Tensor, " head"]:
    """The solution of among x = lack; of many the shortest, so that what makes no difference stays as it is."""
    solution = torch.linalg.lstsq(among, lack[:, None], rcond=SMALLEST_DIRECTION, driver="gelsd").solution
    return torch.nan_to_num(solution[:, 0], nan=0.0, posinf=0.0, neginf=0.0)


def bounded(scales: Float[Tensor, " head"]) -> Float[Tensor, " head"]:
    """The scales, or the farthest point on the way from 1 to them where none is beyond LARGEST."""
    steps = scales - 1
    room = torch.where(steps > 0, LARGEST - 1, LARGEST + 1)
    share = (room / steps.abs().clamp(min=torch.finfo(steps.dtype).tiny)).amin().clamp(max=1.0)
    return 1 + share * steps


def counted_positions(batch: Batch, bank: str) -> Counted | None:
    """The positions of the queries of a bank that are no padding; None where all count."""
    if bank != "encoder" and "decoder_input_ids" in batch.inputs:
        return batch.labels != IGNORED
    mask = batch.inputs.get("attention_mask")
    return None if mask is None else mask.bool()
