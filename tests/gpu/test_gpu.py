"""The same paths with values, on a real device: they must give what the CPU gives."""

from __future__ import annotations

import pytest
import torch

from headscope.models.devices import in_parts, mixed_precision, widest
from headscope.models.gating import gated
from headscope.pruning.training.rescaling import rescaling
from tests.gpu.paths import PATHS
from tests.gpu.subjects import KINDS, subject

pytestmark = pytest.mark.gpu

TOLERANCES = {
    "training": 5e-2,
    "learning gates": 5e-2,
}  # a few steps of AdamW blow up what rounding does to small gradients


@pytest.fixture(scope="module")
def device() -> str:
    """The accelerator of this machine."""
    if torch.cuda.is_available():
        return "cuda"
    if torch.backends.mps.is_available():
        return "mps"
    pytest.skip("there is no CUDA or Apple device on this machine")


@pytest.fixture
def plain_precision(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without bfloat16, so that numbers can be compared."""
    for module in ("headscope.pruning.training.fine_tuning", "headscope.pruning.training.gate_training"):
        monkeypatch.setattr(f"{module}.mixed_precision", lambda _: mixed_precision(torch.device("cpu")))


@pytest.mark.usefixtures("plain_precision")
@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("kind", KINDS)
def test_a_path_gives_on_the_device_what_it_gives_on_the_cpu(kind: str, path: str, device: str) -> None:
    found, expected = (PATHS[path](subject(kind, place)) for place in (device, "cpu"))
    assert found.device.type == device
    scale = float(expected.abs().max())
    limit = TOLERANCES.get(path, 1e-3) * scale
    assert float((found.cpu().double() - expected.double()).abs().max()) <= limit


@pytest.mark.parametrize("kind", KINDS)
def test_scales_are_those_of_the_cpu(kind: str, device: str) -> None:
    fits = []
    for place in (device, "cpu"):
        given = subject(kind, place)
        fits.append(list(rescaling(given.head_model, given.mask, [given.batch])))
    for one, other in zip(*fits, strict=True):
        assert one.error_after == pytest.approx(other.error_after, rel=0.05, abs=1e-3)


@pytest.mark.parametrize("kind", KINDS)
def test_metrics_are_those_of_the_cpu(kind: str, device: str) -> None:
    values = []
    for place in (device, "cpu"):
        given = subject(kind, place)
        with gated(given.head_model, given.mask.as_gates(given.head_model.device)):
            outcomes = given.task.outcomes(given.head_model, "development", 12)
        values.append(given.task.metrics[0].estimate(outcomes).value)
    assert values[0] == pytest.approx(values[1], rel=0.02, abs=0.02)


def test_training_in_mixed_precision_learns(device: str) -> None:
    found = PATHS["training"](subject("bert", device))
    assert bool(torch.isfinite(found).all())


def test_a_batch_that_is_too_large_for_the_device_is_done_in_parts(device: str) -> None:
    if device != "cuda":
        pytest.skip("only CUDA says how much memory it has")
    model = torch.nn.Linear(1, 1).to(device)
    free, _ = torch.cuda.mem_get_info()
    too_many = int(1.5 * free) // 4 // 2**20  # rows of 4 MiB

    def work(rows: slice) -> int:
        return len(torch.zeros(rows.stop - rows.start, 2**20, device=device))

    assert sum(in_parts(model, too_many, 1, work)) == too_many
    assert widest(torch.device("cuda")) == torch.float64
