"""What must hold for every family of models; docs/models.md is a table of these tests."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest
import torch
from torch import Tensor

from headscope.models.example_inputs import example_inputs, main_output
from headscope.models.gating import gated
from headscope.models.head_model import HeadModel
from headscope.models.heads import HeadId
from headscope.models.inputs import probe_inputs
from headscope.models.loading.loader import load
from headscope.pruning.export.exporter import export, read_record, save_pruned, verify
from headscope.pruning.export.proof import attending, attention_implementations
from headscope.pruning.export.stock_format import with_zeroed_heads
from headscope.pruning.masks import HeadMask
from headscope.pruning.surgery import without_heads
from tests.families import FAMILIES, family, masks, shallow

every_family = pytest.mark.parametrize("name", FAMILIES)
generating = pytest.mark.parametrize("name", [name for name in FAMILIES if family(name).model.can_generate()])

EXPORTED = {
    "bert": 1,
    "albert": 2,
    "deberta-v2": 1,
    "modernbert": 1,
    "marian": 1,
    "t5": 2,
    "gpt2": 1,
    "llama": 2,
    "qwen3": 1,
    "gemma2": 1,
    "pythia": 1,
    "vit": 1,
    "whisper": 1,
}
"""Families that stand for all others in the quick test of ONNX, and layers in every stack: two where they share
something. The exporter reads the code of transformers, and that of the other families is one of these with other names.
"""


def masked_output(head_model: HeadModel, mask: HeadMask, inputs: dict[str, Tensor]) -> Tensor:
    with gated(head_model, mask.as_gates()):
        return main_output(head_model, inputs)


def relative(difference: Tensor, reference: Tensor) -> float:
    return float(difference.abs().max() / reference.abs().max().clamp_min(1))


@every_family
def test_open_gates_leave_the_output_bit_identical(name: str) -> None:
    head_model = family(name)
    inputs = example_inputs(head_model)
    plain = main_output(head_model, inputs)
    with gated(head_model, torch.ones(len(head_model.grid))):
        assert torch.equal(main_output(head_model, inputs), plain)
    with gated(head_model, torch.ones(2, len(head_model.grid))):
        assert torch.equal(main_output(head_model, inputs), plain)


@every_family
def test_a_closed_gate_equals_zeroed_output_columns(name: str) -> None:
    head_model = family(name)
    inputs = example_inputs(head_model)
    plain = main_output(head_model, inputs)
    for head in [HeadId(site.bank, site.layer, site.layer) for site in head_model.sites]:
        mask = HeadMask(head_model.grid).prune(head)
        closed = masked_output(head_model, mask, inputs)
        zeroed = main_output(with_zeroed_heads(head_model, mask), inputs)
        assert relative(closed - zeroed, plain) < 1e-6
        assert relative(closed - plain, plain) > 1e-3, f"{head} does nothing, so this test shows nothing"


@every_family
@pytest.mark.parametrize("kind", ["random", "uneven", "empty first layer", "empty middle layer"])
def test_the_smaller_model_computes_what_the_mask_computes(name: str, kind: str) -> None:
    head_model = family(name)
    mask = masks(head_model.grid)[kind]
    inputs = example_inputs(head_model)
    smaller = without_heads(head_model, mask)
    wrong = without_heads(head_model, _as_many_others(mask))
    for implementation in attention_implementations(head_model.model):
        with attending(head_model.model, implementation):
            expected = masked_output(head_model, mask, inputs)
        with attending(smaller.model, implementation), attending(wrong.model, implementation):
            assert relative(main_output(smaller, inputs) - expected, expected) < 1e-5
            assert relative(main_output(wrong, inputs) - expected, expected) > 1e-2, "the wrong heads must differ"
    assert smaller.n_parameters < head_model.n_parameters
    assert smaller.removed == mask.removed


@every_family
def test_removing_in_two_steps_equals_removing_at_once(name: str) -> None:
    head_model = family(name)
    first, second = masks(head_model.grid)["uneven"], masks(head_model.grid)["random"]
    inputs = example_inputs(head_model)
    at_once = without_heads(head_model, first | second)
    in_steps = without_heads(without_heads(head_model, first), second)
    expected = main_output(at_once, inputs)
    assert relative(main_output(in_steps, inputs) - expected, expected) < 1e-6
    assert in_steps.n_parameters == at_once.n_parameters
    assert in_steps.removed == at_once.removed


@every_family
@pytest.mark.parametrize("kind", ["random", "empty first layer"])
def test_saving_and_loading_a_smaller_model_is_exact(name: str, kind: str, tmp_path: Path) -> None:
    head_model = family(name)
    smaller = without_heads(head_model, masks(head_model.grid)[kind])
    save_pruned(smaller, tmp_path / "pruned")
    loaded = load(tmp_path / "pruned", device="cpu")
    inputs = example_inputs(head_model)
    weights, written = loaded.model.state_dict(), smaller.model.state_dict()
    assert weights.keys() == written.keys()
    assert all(torch.equal(weights[key], written[key]) for key in written)
    assert loaded.removed == smaller.removed
    assert loaded.grid == head_model.grid
    gates = torch.rand(len(head_model.grid), generator=torch.Generator().manual_seed(0))
    with gated(loaded, gates), gated(smaller, gates):
        expected = main_output(smaller, inputs)
        assert relative(main_output(loaded, inputs) - expected, expected) < 1e-6  # last bits depend on alignment


@generating
@pytest.mark.parametrize("kind", ["random", "empty first layer"])
@pytest.mark.parametrize("beams", [1, 3])
def test_the_smaller_model_generates_what_the_masked_one_generates(name: str, kind: str, beams: int) -> None:
    head_model = family(name)
    mask = masks(head_model.grid)[kind]
    plain = generated(head_model, beams)
    with gated(head_model, mask.as_gates()):
        expected = generated(head_model, beams)
    assert torch.equal(generated(without_heads(head_model, mask), beams), expected)
    assert not torch.equal(plain, expected), "the mask must change what is generated"


@every_family
@pytest.mark.parametrize("form", ["stock", "standalone"])
def test_exports_for_people_without_headscope_are_equal_to_the_mask(name: str, form: str, tmp_path: Path) -> None:
    head_model = family(name)
    proof = export(head_model, masks(head_model.grid)["random"], tmp_path / form, form)
    assert proof.equal and proof.max_difference < 1e-5
    assert verify(tmp_path / form) == proof
    assert (proof.parameters < proof.parameters_dense) == (form == "standalone")


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in EXPORTED else pytest.mark.long) for name in FAMILIES]
)
def test_the_onnx_export_is_equal_to_the_mask(name: str, tmp_path: Path) -> None:
    check_onnx(shallow(name, n_layers=EXPORTED.get(name, 2)), tmp_path)


@pytest.mark.long
@every_family
def test_the_onnx_export_of_all_layers_is_equal_to_the_mask(name: str, tmp_path: Path) -> None:
    check_onnx(family(name), tmp_path)


def check_onnx(head_model: HeadModel, tmp_path: Path) -> None:
    proof = export(head_model, masks(head_model.grid)["random"], tmp_path / "onnx", "onnx")
    assert proof.equal and proof.max_difference < 1e-5
    assert logging.root.manager.disable == logging.NOTSET
    if head_model.model.config.model_type in ("bert", "vit"):
        assert read_record(tmp_path / "onnx")["sizes"] == "any batch and length"


def generated(head_model: HeadModel, beams: int) -> Tensor:
    inputs = probe_inputs(head_model.model, batch=2)
    prompt = {name: value for name, value in inputs.items() if not name.startswith("decoder_")}
    return head_model.model.generate(
        **prompt, max_new_tokens=6, min_new_tokens=6, num_beams=beams, do_sample=False, pad_token_id=0
    )


def _as_many_others(mask: HeadMask) -> HeadMask:
    """The same number of heads removed, but not the same ones."""
    shifted = [mask.grid.layer(head.bank, head.layer) for head in sorted(mask.removed)]
    others = {layer[(head.head + 1) % len(layer)] for layer, head in zip(shifted, sorted(mask.removed), strict=True)}
    if others == mask.removed:
        last = {bank.bank: len(bank.layers) - 1 for bank in mask.grid.banks}
        others = {HeadId(head.bank, last[head.bank], head.head) for head in mask.removed}
    if others == mask.removed:
        others = set(sorted(mask.removed)[1:])
    return HeadMask(mask.grid, frozenset(others))
