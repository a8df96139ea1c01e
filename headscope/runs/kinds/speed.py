"""Times the really smaller model beside the dense one."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Any

from headscope.runs.kind import Kind, Step, Steps, Workspace, register


@register
@dataclass(frozen=True)
class SpeedRun(Kind):
    """Latency, throughput and memory by batch size and length; a point is what was measured at one size.

    The machine should have nothing else to do meanwhile: the record has the load, and a sentence where it was high.
    """

    mask: str = ""
    batches: list[int] = field(default_factory=lambda: [1, 4, 16, 64])
    lengths: list[int] = field(default_factory=lambda: [32, 128])

    key = "speed"
    command_name = "speed"

    @property
    def title(self) -> str:
        """The model and what is gone."""
        gone = len(self.mask.split())
        return f"Speed of {self.model} without {gone} {'head' if gone == 1 else 'heads'}"

    @property
    def arguments(self) -> dict[str, Any]:
        """Sizes are lists with commas."""
        sizes = {name: ",".join(map(str, getattr(self, name))) for name in ("batches", "lengths")}
        return super().arguments | sizes

    def steps(self, workspace: Workspace) -> Steps:
        """One step a turn of both models; sizes that were measured already are not measured again."""
        from headscope.pruning.evaluation.speed import ROUNDS, Race, Timing, verdict
        from headscope.pruning.masks import HeadMask

        head_model = workspace.load(self.model)
        race = Race.of(head_model, HeadMask.of(head_model.grid, self.mask), self.batches, self.lengths)
        timings = [Timing.from_json(point) for point in workspace.points]
        total = len(race.sizes) * ROUNDS
        yield Step(len(timings) * ROUNDS, total)
        for size in race.sizes[len(timings) :]:
            turns = race.timing(*size)
            while True:
                try:
                    turn = next(turns)
                except StopIteration as stop:
                    timings.append(stop.value)
                    break
                yield Step(len(timings) * ROUNDS + turn, total)
            yield Step(len(timings) * ROUNDS, total, timings[-1].to_json())
        return {
            "mask": str(race.mask),
            "removed": len(race.mask),
            "timings": [timing.to_json() for timing in timings],
            "sentence": verdict(timings),
            **_circumstances(race, max(timing.load for timing in timings)),
        }


def _circumstances(race: Any, load: float) -> dict[str, Any]:
    """What both models hold, and what they ran on."""
    import torch

    from headscope.pruning.evaluation.speed import file_bytes

    cores = os.cpu_count() or 1
    busy = f"The machine was busy meanwhile (load {load:.1f} on {cores} processors): look at the spread."
    models = {"dense": race.dense, "smaller": race.smaller}
    return {
        "parameters": {name: one.n_parameters for name, one in models.items()},
        "bytes": {name: file_bytes(one) for name, one in models.items()},
        "device": str(race.dense.device),
        "precision": str(race.dense.model.dtype).removeprefix("torch."),
        "threads": torch.get_num_threads(),
        "cores": cores,
        "load": load,
        "remark": busy if load > cores else "",
    }
