"""How much faster the really smaller model is, measured beside the dense one and beside what operations predict."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path
from statistics import quantiles
from typing import Any

import torch
from torch import Tensor

from headscope.models.gating import uninstall
from headscope.models.head_model import HeadModel
from headscope.models.inputs import accepted, lengths_for, sized_inputs
from headscope.pruning.evaluation.cost import Costs
from headscope.pruning.evaluation.peak_memory import peak_bytes
from headscope.pruning.export.proof import folder_size
from headscope.pruning.export.saving import save_model
from headscope.pruning.masks import HeadMask
from headscope.pruning.surgery import without_heads

BATCHES = (1, 4, 16, 64)
LENGTHS = (32, 128)
ROUNDS = 9
"""Times that both models take turns."""

SHORTEST = 0.02
"""Seconds that a turn takes at least; short passes are repeated within it."""

CLEAR = 1.25
"""Quartiles further apart than this say nothing about a model that seems no faster."""

WORTH_IT = 1.05
"""A share of the operations below this cannot be seen in the time."""


@dataclass(frozen=True, slots=True)
class Spread:
    """The median of several measurements and their quartiles."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        """Of at least two values."""
        low, median, high = quantiles(values, n=4, method="inclusive")
        return cls(median, low, high)


@dataclass(frozen=True, slots=True)
class Timing:
    """Both models on inputs of one size: seconds a pass, how many times faster the smaller one is, and memory.

    `speedup` is that of turns side by side, `predicted` the ratio of operations. `length` is None where inputs have one
    size only. Memory is in bytes, weights included. `load` is the number of programs that wanted a processor meanwhile.
    """

    batch: int
    length: int | None
    dense: Spread
    smaller: Spread
    speedup: Spread
    predicted: float
    memory_dense: int
    memory_smaller: int
    load: float

    @property
    def helps(self) -> bool:
        """Whether the smaller model was the faster one in at least three of four turns."""
        return self.speedup.low > 1

    @property
    def is_clear(self) -> bool:
        """Whether one can tell if it helps: turns that differ too much tell nothing."""
        return self.helps or self.speedup.high < CLEAR * self.speedup.low

    def to_json(self) -> dict[str, Any]:
        """As plain numbers, with examples a second."""
        throughput = {"dense": self.batch / self.dense.median, "smaller": self.batch / self.smaller.median}
        return asdict(self) | {"throughput": throughput}

    @classmethod
    def from_json(cls, record: dict[str, Any]) -> Timing:
        """What `to_json` wrote."""
        spreads = {name: Spread(**record[name]) for name in ("dense", "smaller", "speedup")}
        return cls(**{name: value for name, value in record.items() if name != "throughput"} | spreads)


@dataclass(frozen=True)
class Race:
    """A dense model, the one without some of its heads, and the sizes of inputs to run them on."""

    dense: HeadModel
    smaller: HeadModel
    mask: HeadMask
    sizes: tuple[tuple[int, int | None], ...]

    @classmethod
    def of(
        cls, head_model: HeadModel, mask: HeadMask, batches: Iterable[int] = BATCHES, lengths: Iterable[int] = LENGTHS
    ) -> Race:
        """Every batch size with every length, which is cut to the longest that the model takes."""
        sizes = tuple((batch, length) for length, batch in product(lengths_for(head_model.model, lengths), batches))
        for batch, length in sizes:
            if batch < 1 or (length is not None and length < 1):
                raise ValueError(f"batch {batch} and length {length}; both must be at least 1")
        return cls(head_model, without_heads(head_model, mask), mask, sizes)

    def timing(self, batch: int, length: int | None) -> Generator[int, None, Timing]:
        """Runs both in turns, one step a turn of both; other models may wait meanwhile, but must not run."""
        uninstall(self.dense.model)  # gates would cost the dense model a little, and come back when they are needed
        inputs = sized_inputs(self.dense.model, batch, length)
        passes = [_pass(one, inputs) for one in (self.dense, self.smaller)]
        for once in passes:
            once()  # the first pass is slower than all others
        times = [max(1, round(SHORTEST / _seconds(once, self.dense.device, 1))) for once in passes]
        found: list[tuple[float, float]] = []
        for turn in range(ROUNDS):
            order = (0, 1) if turn % 2 else (1, 0)
            pair = {which: _seconds(passes[which], self.dense.device, times[which]) for which in order}
            found.append((pair[0], pair[1]))
            yield turn
        costs = Costs.of(self.dense, length or 1)
        memory = [peak_bytes(one.model, once) for one, once in zip((self.dense, self.smaller), passes, strict=True)]
        return Timing(
            batch,
            length,
            Spread.of([dense for dense, _ in found]),
            Spread.of([smaller for _, smaller in found]),
            Spread.of([dense / smaller for dense, smaller in found]),
            costs.under(HeadMask(self.mask.grid)).flops / costs.under(self.mask).flops,
            memory[0],
            memory[1],
            load_average(),
        )


def file_bytes(head_model: HeadModel) -> int:
    """How large the file of the weights is when the model is saved."""
    with tempfile.TemporaryDirectory() as folder:
        save_model(head_model, Path(folder), old_names=False)
        return folder_size(Path(folder))


def load_average() -> float:
    """How many programs wanted a processor in the last minute."""
    return os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0


def verdict(timings: Sequence[Timing]) -> str:
    """Whether fewer heads help, in one sentence or two."""
    helped = [timing for timing in timings if timing.helps]
    no_help = [timing for timing in timings if timing.is_clear and not timing.helps]
    unclear = [timing for timing in timings if not timing.is_clear]
    said = []
    if helped:
        where = "every size measured" if len(helped) == len(timings) else _sizes(helped)
        said.append(f"The smaller model is {_range(helped)} times as fast at {where}.")
    if no_help:
        where = "" if len(no_help) == len(timings) else f" at {_sizes(no_help)}"
        said.append(f"Fewer heads do not help{where}: {_range(no_help)} times as fast, {_reason(no_help)}.")
    if unclear:
        said.append(f"The turns differ too much to tell at {_sizes(unclear)}.")
    return " ".join(said)


def _reason(timings: Sequence[Timing]) -> str:
    predicted = max(timing.predicted for timing in timings)
    if predicted < WORTH_IT:
        return f"since these heads are only {100 * (1 - 1 / predicted):.0f} % of the operations"
    return f"where the operations would allow {predicted:.2f}, so at this size the time goes elsewhere"


def _range(timings: Sequence[Timing]) -> str:
    low, high = (f"{pick(timing.speedup.median for timing in timings):.2f}" for pick in (min, max))
    return low if low == high else f"{low} to {high}"


def _sizes(timings: Sequence[Timing]) -> str:
    return ", ".join(
        f"batch {timing.batch}" + ("" if timing.length is None else f" and length {timing.length}")
        for timing in timings
    )


def _pass(head_model: HeadModel, inputs: dict[str, Tensor]) -> Callable[[], None]:
    options = accepted(head_model.model, use_cache=False)

    def once() -> None:
        with torch.inference_mode():
            head_model.model(**inputs, **options)

    return once


def _seconds(once: Callable[[], None], device: torch.device, times: int) -> float:
    """Seconds a pass, with everything that the device was given done."""
    _finish(device)
    started = time.perf_counter()
    for _ in range(times):
        once()
    _finish(device)
    return (time.perf_counter() - started) / times


def _finish(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    elif device.type == "mps":
        torch.mps.synchronize()
