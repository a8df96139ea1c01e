"""Where a model computes, and in which precision."""

from __future__ import annotations

import torch

DTYPES = {"float32": torch.float32, "float16": torch.float16, "bfloat16": torch.bfloat16, "float64": torch.float64}


def pick_device(wanted: str = "auto") -> torch.device:
    """The device as asked, or the best one there is: cuda, then mps, then cpu."""
    if wanted == "auto":
        wanted = "cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"
    try:
        device = torch.device(wanted)
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
