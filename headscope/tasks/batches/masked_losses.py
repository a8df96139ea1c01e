"""The losses of a batch under many masks, each computed from the first attention layer on where it differs."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from headscope.models.devices import fitting_rows
from headscope.models.gating import gated
from headscope.models.head_model import HeadModel
from headscope.models.heads import HeadId
from headscope.models.partial_forward import Recording, recording, resuming, ungoverned
from headscope.models.pausing import may_pause
from headscope.models.sites import Site
from headscope.tasks.batches.batching import Batch
from headscope.tasks.batches.memory_splitting import rows_of, width
from headscope.tasks.task import PerExample, Task

Gates = Float[Tensor, " head"]
Masks = Float[Tensor, "mask head"]
MaskLosses = Float[Tensor, "mask example"]

CPU = torch.device("cpu")


@dataclass(frozen=True, eq=False)
class MaskedLosses:
    """The losses of every row of a batch under any gates; `losses` are those under the gates `reference`, on the CPU.

    Masks that differ from the reference only in late layers cost little: what comes before is not computed again. So a
    reference is worth most if the masks are near it. Several masks share a pass as far as the task's budget allows.
    """

    head_model: HeadModel
    task: Task
    batch: Batch
    reference: Gates
    losses: PerExample
    recording: Recording

    @classmethod
    def of(cls, head_model: HeadModel, task: Task, batch: Batch, reference: Gates | None = None) -> MaskedLosses:
        """Runs the batch once, with all heads open if nothing else is said; give gates that lie on the CPU."""
        gates = open_gates(head_model, 1, CPU)[0] if reference is None else reference.cpu()
        free = ungoverned(head_model, lambda: task.losses(head_model, rows_of(batch, slice(0, 1))))
        with recording(head_model, len(batch), free) as found, gated(head_model, gates.to(head_model.device)):
            losses = task.losses(head_model, batch)
        return cls(head_model, task, batch, gates, losses, found)

    @torch.no_grad()
    def under(self, masks: Masks) -> MaskLosses:
        """The losses under every mask, which has one gate a head in the order of the grid.

        Which layers must run again is decided on the CPU: where the masks lie there, nothing is read back.
        """
        if masks.shape[-1] != len(self.reference):
            raise ValueError(f"masks of {masks.shape[-1]} heads; the model has {len(self.reference)}")
        masks = masks.cpu()
        found = self.losses.expand(len(masks), -1).clone()
        at_once = masks_at_once(self.head_model, self.task, self.batch)
        for site, numbers in self._by_first_change(masks).items():
            for part in torch.tensor(numbers).split(at_once):
                may_pause()
                found[part] = self._resumed(site, masks[part].to(self.head_model.device))
        return found

    def _resumed(self, site: Site, masks: Masks) -> MaskLosses:
        gates = masks.repeat_interleave(len(self.batch), dim=0)
        with resuming(self.recording, site, len(masks)):
            losses: Tensor = losses_of_copies(self.head_model, self.task, self.batch, gates)
        return losses.view(len(masks), len(self.batch))

    def _by_first_change(self, masks: Masks) -> dict[Site, list[int]]:
        """The numbers of the masks by the attention layer, in order of time, whose gates are the first to change."""
        found: dict[Site, list[int]] = {}
        changed: Bool[Tensor, "mask head"] = masks.to(self.reference) != self.reference
        waiting = torch.ones(len(masks), dtype=torch.bool)
        for site in sorted(self.head_model.sites, key=self.recording.beginning):
            columns = [self.head_model.grid.positions[HeadId(site.bank, site.layer, head)] for head in site.kept]
            first = waiting & changed[:, columns].any(dim=1)
            waiting &= ~first
            if first.any():
                found[site] = first.nonzero().flatten().tolist()
        return found


def losses_of_copies(
    head_model: HeadModel, task: Task, batch: Batch, gates: Float[Tensor, "row head"]
) -> Float[Tensor, " row"]:
    """The losses of copies of the batch, one after the other, each row under gates of its own; differentiable."""
    with gated(head_model, gates):
        losses: Tensor = task.losses(head_model, repeated(batch, len(gates) // len(batch)))
    return losses


def open_gates(head_model: HeadModel, n_rows: int, device: torch.device | None = None) -> Float[Tensor, "row head"]:
    """Rows of gates, all of them open, in single precision at least, on the model's device or another."""
    dtype = torch.promote_types(head_model.model.dtype, torch.float32)
    return torch.ones(n_rows, len(head_model.grid), dtype=dtype, device=device or head_model.device)


def repeated(batch: Batch, times: int) -> Batch:
    """The batch `times` times over, one copy after the other."""
    return replace(
        batch,
        indices=batch.indices * times,
        inputs={name: _repeated(value, times) for name, value in batch.inputs.items()},
        labels=_repeated(batch.labels, times),
    )


def picked(batch: Batch, rows: Int[Tensor, " row"]) -> Batch:
    """Some rows of the batch."""
    return replace(
        batch,
        indices=tuple(batch.indices[row] for row in rows.tolist()),
        inputs={name: value[rows] for name, value in batch.inputs.items()},
        labels=batch.labels[rows],
    )


def masks_at_once(head_model: HeadModel, task: Task, batch: Batch) -> int:
    """How many copies of the batch fit in the task's budget, and in memory as far as that is known; 1 at least."""
    at_once = max(1, task.budget(head_model) // (len(batch) * width(batch)))
    return fitting_rows(head_model.model, at_once, len(batch) * width(batch))


def _repeated(values: Tensor, times: int) -> Tensor:
    return values.repeat(times, *[1] * (values.dim() - 1))
