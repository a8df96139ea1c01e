"""The most that tensors hold at one time while something is computed, on any device."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

from torch import Tensor, UntypedStorage, nn
from torch.utils._python_dispatch import TorchDispatchMode


def peak_bytes(model: nn.Module, work: Callable[[], object]) -> int:
    """The weights of the model and the most that the work holds beside them.

    Counted as tensors are made and freed, so that other work on the machine does not disturb it; what a single
    operation needs inside, and what an allocator keeps in reserve, is left out.
    """
    counted = _Live(model)
    with counted:
        work()
    return counted.most


class _Live(TorchDispatchMode):
    """Counts the bytes of tensors that are alive, and the most there were."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.live = self.most = 0
        self.seen: set[int] = set()
        for tensor in (*model.parameters(), *model.buffers()):
            self._count(tensor.untyped_storage())

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        output = func(*args, **(kwargs or {}))
        for part in output if isinstance(output, list | tuple) else (output,):
            if isinstance(part, Tensor):
                self._count(part.untyped_storage())
        return output

    def _count(self, storage: UntypedStorage) -> None:
        address, size = storage.data_ptr(), storage.nbytes()
        if address and address not in self.seen:
            self.seen.add(address)
            self.live += size
            self.most = max(self.most, self.live)
            weakref.finalize(storage, self._forget, address, size)

    def _forget(self, address: int, size: int) -> None:
        self.seen.discard(address)
        self.live -= size
