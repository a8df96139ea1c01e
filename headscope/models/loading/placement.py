"""A model that is too big for one device is spread over several, layer by layer, by accelerate."""

from __future__ import annotations

import torch

AUTO = "auto"
"""What accelerate calls a layout that it works out itself."""


def layout(n_bytes: int, device: torch.device) -> str | None:
    """None where all weights go to the one device, else `auto`: over all CUDA devices there are.

    They are spread where no certain device was asked for, the first has no room for them and all together have.
    """
    if device.type != "cuda" or device.index is not None or torch.cuda.device_count() < 2:
        return None
    free = [int(torch.cuda.mem_get_info(number)[0]) for number in range(torch.cuda.device_count())]
    return AUTO if free[0] < n_bytes <= sum(free) else None
