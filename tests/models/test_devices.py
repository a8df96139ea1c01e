from __future__ import annotations

from contextlib import nullcontext

import pytest
import torch
from torch import nn

from headscope.models.devices import in_parts, is_out_of_memory, mixed_precision, widest


class Cramped:
    """A device on which only so many places fit at a time; notes what was tried and what was done."""

    def __init__(self, room: int, width: int = 1) -> None:
        self.room, self.width = room, width
        self.tried: list[int] = []
        self.done: list[int] = []

    def __call__(self, rows: slice) -> int:
        size = rows.stop - rows.start
        self.tried.append(size)
        if size * self.width > self.room:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB")
        self.done += range(rows.start, rows.stop)
        return size


def test_what_fits_is_done_at_once() -> None:
    work = Cramped(room=10)
    assert in_parts(nn.Linear(2, 2), 10, 1, work) == [10]
    assert work.tried == [10]


def test_what_does_not_fit_is_halved_until_it_does_and_every_row_is_done_once() -> None:
    work = Cramped(room=3)
    assert in_parts(nn.Linear(2, 2), 11, 1, work) == [2, 2, 2, 2, 2, 1]
    assert work.tried == [11, 5, 2, 2, 2, 2, 2, 1]
    assert work.done == list(range(11))


def test_what_fitted_is_remembered_for_the_model_in_places_and_not_in_rows() -> None:
    model = nn.Linear(2, 2)
    in_parts(model, 8, 10, Cramped(room=45, width=10))  # 80 places do not fit, 40 do
    same = Cramped(room=45, width=10)
    in_parts(model, 8, 10, same)
    assert same.tried == [4, 4]
    shorter = Cramped(room=45, width=5)
    in_parts(model, 8, 5, shorter)
    assert shorter.tried == [8]
    other = Cramped(room=45, width=10)
    in_parts(nn.Linear(2, 2), 8, 10, other)
    assert other.tried == [8, 4, 4]


def test_a_single_row_that_does_not_fit_is_an_error() -> None:
    work = Cramped(room=0)
    with pytest.raises(torch.OutOfMemoryError):
        in_parts(nn.Linear(2, 2), 4, 1, work)
    assert work.tried == [4, 2, 1]


def test_other_errors_are_not_tried_again() -> None:
    tried = []

    def work(rows: slice) -> None:
        tried.append(rows)
        raise RuntimeError("shapes do not match")

    with pytest.raises(RuntimeError, match="shapes"):
        in_parts(nn.Linear(2, 2), 4, 1, work)
    assert len(tried) == 1


def test_no_memory_is_known_by_any_of_its_names() -> None:
    assert is_out_of_memory(torch.OutOfMemoryError("CUDA out of memory"))
    assert is_out_of_memory(MemoryError())
    assert is_out_of_memory(RuntimeError("MPS backend out of memory (MPS allocated: 17 GB)"))
    assert is_out_of_memory(RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 4 bytes"))
    assert not is_out_of_memory(RuntimeError("the size of tensor a must match"))


def test_precision_is_mixed_where_the_device_has_bfloat16_and_nowhere_else(monkeypatch: pytest.MonkeyPatch) -> None:
    left = torch.ones(2, 2)
    with mixed_precision(torch.device("cpu")):
        assert (left @ left).dtype == torch.float32
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda: False)
    with mixed_precision(torch.device("cuda")):
        assert not torch.is_autocast_enabled("cuda")
    asked = []
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda: True)
    monkeypatch.setattr(torch, "autocast", lambda *given, **named: asked.append((given, named)) or nullcontext())
    mixed_precision(torch.device("cuda"))
    mixed_precision(torch.device("mps"))
    assert asked == [(("cuda",), {"dtype": torch.bfloat16})]


def test_sums_are_in_double_precision_but_on_apple_devices() -> None:
    assert widest(torch.device("cpu")) == widest(torch.device("cuda")) == torch.float64
    assert widest(torch.device("mps")) == torch.float32
