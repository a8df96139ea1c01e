"""The meta device holds no values: it refuses a tensor of another device, and every value that is read back."""

from __future__ import annotations

from itertools import product

import pytest
import torch
import transformers

from headscope.tasks.batches.batching import collated
from headscope.tasks.fidelity import Fidelity, choice_rows
from headscope.tasks.task import Splits
from tests.gpu.one_device import OneDevice
from tests.gpu.paths import PATHS
from tests.gpu.subjects import KINDS, subject
from tests.tasks.tiny import TEXTS


@pytest.fixture(autouse=True)
def unread_padding(monkeypatch: pytest.MonkeyPatch) -> None:
    """Once a pass transformers itself asks whether there is any padding; while tracing it does not."""
    monkeypatch.setattr(transformers.masking_utils, "is_tracing", lambda *_: True)


@pytest.mark.parametrize(
    ("kind", "path"),
    [*product(KINDS, PATHS), *product(("t5", "llama"), ("surgery", "folding"))],  # position biases and shared keys
)
def test_a_path_stays_on_its_device_and_reads_nothing_back(kind: str, path: str) -> None:
    given = subject(kind, "meta")
    with OneDevice():
        found = PATHS[path](given)
    assert found.device.type == "meta"
    assert found.shape == PATHS[path](subject(kind, "cpu")).shape


@pytest.mark.parametrize("kind", ["bert", "gpt2"])
def test_the_loss_of_one_choice_a_row_reads_nothing_back(kind: str) -> None:
    head_model = subject(kind, "meta").head_model
    task = Fidelity("own", "Own", head_model, Splits.of(TEXTS, TEXTS, TEXTS))
    batch = collated(choice_rows(head_model, "own", tuple(TEXTS[:6])), head_model, "calibration")
    with OneDevice():
        assert task.losses(head_model, batch).shape == (6,)


def test_the_meta_device_does_refuse_what_it_is_here_to_refuse() -> None:
    given = subject("bert", "meta")
    with pytest.raises((RuntimeError, NotImplementedError)):
        float(PATHS["gates"](given).sum())
    elsewhere = {name: torch.zeros(value.shape, dtype=value.dtype) for name, value in given.batch.inputs.items()}
    with pytest.raises(RuntimeError, match="on tensors of cpu and meta"), OneDevice():
        given.head_model.model(**elsewhere)
