"""Where a model computes, in which precision, and how much at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TypeVar
from weakref import WeakKeyDictionary

import torch
from torch import nn

T = TypeVar("T")

DEVICES = ("cpu", "cuda", "mps")
DTYPES = {"float32": torch.float32, "float16": torch.float16, "bfloat16": torch.bfloat16, "float64": torch.float64}


def pick_device(wanted: str = "auto") -> torch.device:
    """The device as asked, or the best one there is: cuda, then mps, then cpu."""
    if wanted == "auto":
        wanted = "cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"
    try:
        device = torch.device(wanted)
        if device.type not in DEVICES:
            raise RuntimeError(f"torch knows {device.type}, Headscope does not")
    except RuntimeError as error:
        raise ValueError(f"no device {wanted!r}; allowed are auto, cpu, cuda, cuda:0 and mps") from error
    if device.type == "cuda" and (device.index or 0) >= torch.cuda.device_count():
        raise ValueError(f"no device {wanted!r} on this machine; it has {torch.cuda.device_count()} CUDA devices")
    if device.type == "mps" and not torch.backends.mps.is_available():
        raise ValueError("no device 'mps' on this machine; use auto or cpu")
    return device


def pick_dtype(wanted: str, device: torch.device) -> torch.dtype | str:
    """The precision as asked; `auto` is the checkpoint's own on an accelerator and float32 on a CPU.

    Half precision is many times slower than float32 on most CPUs.
    """
    if wanted == "auto":
        return torch.float32 if device.type == "cpu" else "auto"
    if wanted not in DTYPES:
        raise ValueError(f"no precision {wanted!r}; allowed are auto, {', '.join(DTYPES)}")
    return DTYPES[wanted]


def widest(device: torch.device) -> torch.dtype:
    """For sums of many small numbers: double precision, which Apple's GPUs lack."""
    return torch.float32 if device.type == "mps" else torch.float64


def mixed_precision(device: torch.device) -> AbstractContextManager[object]:
    """Lets matrix products run in bfloat16 on CUDA devices that have it, while the context lasts; nothing elsewhere.

    Float16 is left out: its small range needs the loss to be scaled.
    """
    if device.type == "cuda" and torch.cuda.is_bf16_supported():
        return torch.autocast("cuda", dtype=torch.bfloat16)
    return nullcontext()


def in_parts(model: nn.Module, n_rows: int, width: int, work: Callable[[slice], T]) -> list[T]:
    """What `work` gives for the rows of a batch, in slices as large as memory allows, one after the other.

    A row counts `width` places. When the device runs out of memory the slice is halved and done again, so `work` must
    leave nothing behind if it fails; how many places fitted is remembered for this model on this device.
    """
    device = next(model.parameters()).device
    found: list[T] = []
    start = 0
    while start < n_rows:
        size = fitting_rows(model, n_rows - start, width)
        try:
            found.append(work(slice(start, start + size)))
            start += size
            continue
        except (RuntimeError, MemoryError) as error:
            if size == 1 or not is_out_of_memory(error):
                raise
        _FITTING.setdefault(model, {})[device] = (
            size * width // 2
        )  # here, where the failed work is no longer held by the exception
        _release(device)
    return found


def fitting_rows(model: nn.Module, n_rows: int, width: int) -> int:
    """How many of these rows can be done at once: all, but for what `in_parts` found out about this model; 1 at least.

    A row counts `width` places.
    """
    known = _FITTING.get(model, {}).get(next(model.parameters()).device)
    return n_rows if known is None else min(n_rows, max(1, known // width))


def is_out_of_memory(error: BaseException) -> bool:
    """Whether a device, or the machine itself, has no memory left for what was asked."""
    return isinstance(error, torch.OutOfMemoryError | MemoryError) or any(
        phrase in str(error).lower() for phrase in ("out of memory", "not enough memory", "can't allocate memory")
    )


_FITTING: WeakKeyDictionary[nn.Module, dict[torch.device, int]] = WeakKeyDictionary()


def _release(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.empty_cache()
    elif device.type == "mps":
        torch.mps.empty_cache()


@contextmanager
def one_thread() -> Iterator[None]:
    """Many operations on small tensors, each on one thread: to share them out costs more than they do."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
