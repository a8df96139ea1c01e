from __future__ import annotations

import pytest
import torch

from headscope.models.example_inputs import example_inputs
from headscope.models.gating import gated
from headscope.models.loading import loader
from headscope.models.loading.loader import load
from headscope.models.loading.placement import layout

GB = 2**30


@pytest.fixture
def two_devices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda number: ((8 * GB, 6 * GB)[number], 16 * GB))


@pytest.mark.parametrize(
    ("n_bytes", "device", "expected"),
    [
        (8 * GB, "cuda", None),
        (8 * GB + 1, "cuda", "auto"),
        (14 * GB, "cuda", "auto"),
        (14 * GB + 1, "cuda", None),
        (9 * GB, "cuda:0", None),
        (9 * GB, "cpu", None),
    ],
)
@pytest.mark.usefixtures("two_devices")
def test_only_what_the_first_device_has_no_room_for_and_all_have_is_spread(
    n_bytes: int, device: str, expected: str | None
) -> None:
    assert layout(n_bytes, torch.device(device)) == expected


def test_one_device_is_never_spread_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    assert layout(9 * GB, torch.device("cuda")) is None


def test_a_model_that_is_spread_computes_the_same_under_gates(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = load("looker", device="cpu")
    own = [name for name, one in plain.model.named_modules() if list(one.parameters(recurse=False))]
    places = {name: "disk" if name.startswith("vit.layers.5.") else "cpu" for name in own}
    monkeypatch.setattr(loader, "layout", lambda *_: places)
    spread = load("looker", device="cpu")
    assert next(spread.model.get_submodule("vit.layers.5").parameters()).is_meta, "it is read when it is needed"
    batch, gates = example_inputs(plain), torch.arange(36.0) % 2
    with torch.no_grad(), gated(plain, gates), gated(spread, gates):
        assert torch.equal(spread.model(**batch).logits, plain.model(**batch).logits)
