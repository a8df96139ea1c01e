"""Refuses operations on tensors of two devices, also those that the meta device lets pass."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

ATEN = torch.ops.aten
TRANSFERS = (ATEN.copy_, ATEN._to_copy)
INDEXING = (ATEN.index, ATEN.index_put, ATEN.index_put_, ATEN._unsafe_index)
"""A GPU takes the numbers of rows from the CPU too."""


class OneDevice(TorchDispatchMode):
    """While it lasts, all tensors of an operation must lie on one device; single numbers may come from the CPU."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        del types
        seen = (args[0], args[2:]) if func.overloadpacket in INDEXING else (args, kwargs)
        tensors = [leaf for leaf in tree_leaves(seen) if isinstance(leaf, Tensor)]
        into_one_number = func._schema.is_mutable and bool(tensors) and tensors[0].dim() == 0
        found = {leaf.device.type for leaf in tensors if leaf.dim() > 0 or into_one_number}
        if len(found) > 1 and func.overloadpacket not in TRANSFERS:
            raise RuntimeError(f"{func} on tensors of {' and '.join(sorted(found))}")
        return func(*args, **(kwargs or {}))
