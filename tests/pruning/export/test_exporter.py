from __future__ import annotations

import json
import os
import subprocess
import sys
from copy import deepcopy
from dataclasses import replace
from pathlib import Path

import pytest
import torch
import transformers as hf
from safetensors.torch import load_file, save_file

from headscope.models.gating import gated
from headscope.models.head_model import HeadModel
from headscope.pruning.export import exporter as export_module
from headscope.pruning.export.exporter import export, load_pruned, read_record, save_pruned, verify
from headscope.pruning.export.proof import CHECK_FILE
from headscope.pruning.masks import HeadMask
from tests import fresh
from tests.families import GROUPED, family, masks, shallow

ROOT = Path(__file__).parents[3]
COMPARE = """
import torch
import transformers as hf
from safetensors.torch import load_file

check = load_file(f"{folder}/headscope-check.safetensors")
inputs = {name.removeprefix("input."): value for name, value in check.items() if name.startswith("input.")}
with torch.inference_mode():
    found = model(**inputs).logits
print(float((found - check["expected"]).abs().max()), "headscope" in sys.modules)
"""
COMPARE_ONNX = """
import numpy
from safetensors.numpy import load_file

check = load_file(f"{folder}/headscope-check.safetensors")
inputs = {name.removeprefix("input."): value for name, value in check.items() if name.startswith("input.")}
(found,) = model.run(None, inputs)
print(float(numpy.abs(found - check["expected"]).max()), "torch" in sys.modules)
"""


@pytest.mark.parametrize(
    ("name", "form"), [("bert", "headscope"), ("marian", "stock"), ("llama", "standalone"), ("bert", "onnx")]
)
def test_the_printed_snippet_loads_the_export_in_a_process_of_its_own(name: str, form: str, tmp_path: Path) -> None:
    head_model = family(name)
    folder = tmp_path / "out"
    proof = export(head_model, masks(head_model.grid)["uneven"], folder, form)
    code = f"import sys\nfolder = {str(folder)!r}\n{read_record(folder)['snippet']}\n"
    code += COMPARE_ONNX if form == "onnx" else COMPARE
    where = ROOT if form == "headscope" else tmp_path  # the others must not need the project
    command = [sys.executable, "-c", code]
    run = (
        subprocess.run(command, cwd=where, capture_output=True, text=True, check=False)
        if form == "onnx"  # this one must do without torch
        else fresh.run(cwd=where, code=code)
    )
    assert run.returncode == 0, run.stderr
    difference, needed = run.stdout.split()
    assert float(difference) < 1e-4
    assert needed == str(form == "headscope")
    assert proof.equal


EXPORT = """
import sys
from headscope.models.loading.loader import load
from headscope.pruning.export.exporter import export, verify
from headscope.pruning.masks import HeadMask

folder, *forms = sys.argv[1:]
model = load(folder, device="cpu")
for form in forms:
    export(model, HeadMask(model.grid), form, form)
    print(form, verify(form).equal)
"""


def test_an_export_leaves_nothing_in_the_home_of_its_user(tmp_path: Path) -> None:
    kept_out = ("HF_HOME", "HF_MODULES_CACHE", "XDG_CACHE_HOME", "ORT_DISABLE_TELEMETRY")
    environment = {name: value for name, value in os.environ.items() if name not in kept_out}
    shallow("vit").model.save_pretrained(tmp_path / "model")
    command = [sys.executable, "-c", EXPORT, str(tmp_path / "model"), "standalone", "onnx"]
    run = subprocess.run(
        command,
        cwd=tmp_path,
        env=environment | {"HOME": str(tmp_path / "home"), "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.stdout == "standalone True\nonnx True\n", run.stderr
    left = [path for path in (tmp_path / "home").rglob("*") if path.is_file() and path.name != "__init__.py"]
    assert left == []


def test_the_smaller_file_is_smaller(tmp_path: Path) -> None:
    head_model = family("marian")
    mask = masks(head_model.grid)["random"]
    smaller = export(head_model, mask, tmp_path / "smaller", "headscope")
    zeroed = export(head_model, mask, tmp_path / "zeroed", "stock")
    assert smaller.bytes < 0.85 * zeroed.bytes
    assert smaller.parameters < zeroed.parameters == smaller.parameters_dense


def test_verify_notices_a_changed_weight(tmp_path: Path) -> None:
    head_model = family("bert")
    export(head_model, masks(head_model.grid)["random"], tmp_path / "out")
    weights_file = tmp_path / "out" / "model.safetensors"
    weights = load_file(weights_file)
    weights["classifier.bias"] += 0.01
    save_file(weights, weights_file, {"format": "pt"})
    proof = verify(tmp_path / "out")
    assert not proof.equal
    assert proof.max_difference > 1e-3


def test_an_export_that_differs_from_its_mask_is_not_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    head_model = family("bert")
    mask = masks(head_model.grid)["random"]
    monkeypatch.setattr(export_module, "without_heads", lambda model, _: _wrong(model, mask))
    with pytest.raises(ValueError, match=r"the headscope export differs from the mask by .*; nothing was written"):
        export(head_model, mask, tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_holds_something_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(ValueError, match="is there already; give a new or an empty folder"):
        save_pruned(family("bert"), tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_an_unknown_format_names_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no format 'pickle'; allowed are headscope, stock, standalone, onnx"):
        export(family("bert"), HeadMask(family("bert").grid), tmp_path / "out", "pickle")


def test_a_folder_that_was_not_exported_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"no readable headscope\.json"):
        verify(tmp_path)
    (tmp_path / "headscope.json").write_text(json.dumps({"format": "nonsense", "proof": {"parameters_dense": 1}}))
    with pytest.raises(ValueError, match="names the format 'nonsense'"):
        verify(tmp_path)
    (tmp_path / "headscope.json").write_text(json.dumps({"format": "stock", "proof": {"parameters_dense": 1}}))
    with pytest.raises(ValueError, match=f"no readable {CHECK_FILE}"):
        verify(tmp_path)


def test_a_model_that_is_not_pruned_is_not_loaded_as_pruned(tmp_path: Path) -> None:
    family("bert").model.save_pretrained(tmp_path)
    with pytest.raises(ValueError, match="holds no pruned model"):
        load_pruned(tmp_path)


def test_the_exported_reference_is_what_the_masked_model_gives(tmp_path: Path) -> None:
    head_model = family("gpt2")
    mask = masks(head_model.grid)["random"]
    export(head_model, mask, tmp_path / "out")
    check = load_file(tmp_path / "out" / CHECK_FILE)
    inputs = {name.removeprefix("input."): value for name, value in check.items() if name.startswith("input.")}
    with gated(head_model, mask.as_gates()), torch.inference_mode():
        assert torch.equal(head_model.model(**inputs).logits, check["expected"])


def _wrong(head_model, mask: HeadMask):
    from headscope.pruning.surgery import without_heads

    return without_heads(head_model, HeadMask(mask.grid, frozenset(sorted(mask.removed)[1:])))


@pytest.mark.parametrize("name", ["bert", "t5", "gpt2", "marian"])
def test_weights_that_half_precision_holds_exactly_are_written_in_it(name: str, tmp_path: Path) -> None:
    head_model = replace(family(name), model=rounded(family(name).model))
    mask = masks(head_model.grid)["random"]
    halved = export(head_model, mask, tmp_path / "halved")
    whole = export(family(name), mask, tmp_path / "whole")
    assert halved.equal
    assert halved.bytes < 0.6 * whole.bytes
    assert {value.dtype for value in load_file(tmp_path / "whole" / "model.safetensors").values()} == {torch.float32}


def rounded(model):
    """A copy whose saved weights are those of half precision; a fixed position table is made anew, not saved."""
    copied = deepcopy(model)
    with torch.no_grad():
        for path, parameter in copied.named_parameters():
            if "embed_positions" not in path:
                parameter.copy_(parameter.half())
    return copied


def test_code_that_headscope_did_not_write_is_not_run(tmp_path: Path) -> None:
    head_model = family("llama")
    export(head_model, masks(head_model.grid)["random"], tmp_path / "out", "standalone")
    modelling = tmp_path / "out" / "modeling_headscope.py"
    modelling.write_text(modelling.read_text() + f"\nopen({str(tmp_path / 'ran')!r}, 'w')\n")
    with pytest.raises(ValueError, match="are not those that this Headscope writes, so they are not run"):
        verify(tmp_path / "out")
    assert not (tmp_path / "ran").exists()


def test_pruning_a_pruned_model_keeps_its_history(tmp_path: Path) -> None:
    head_model = family("bert")
    first, second = (HeadMask.of(head_model.grid, address) for address in ("encoder.0.1", "encoder.2.3"))
    export(head_model, first, tmp_path / "first", "standalone")
    proof = export(load_pruned(tmp_path / "first", device="cpu"), second, tmp_path / "second")
    assert proof.parameters_dense == head_model.n_parameters
    assert read_record(tmp_path / "second")["removed"] == ["encoder.0.1", "encoder.2.3"]
    assert "auto_map" not in json.loads((tmp_path / "second" / "config.json").read_text())


def test_a_model_whose_heads_are_all_gone_is_still_understood(tmp_path: Path) -> None:
    head_model = family("vit")
    export(head_model, ~HeadMask(head_model.grid), tmp_path / "out")
    assert load_pruned(tmp_path / "out", device="cpu").missed == ()


def test_an_architecture_whose_heads_cannot_be_removed_gets_one_sentence(tmp_path: Path) -> None:
    config = hf.Phi3Config(**GROUPED)
    head_model = HeadModel.of(hf.Phi3ForCausalLM(config))
    with pytest.raises(ValueError, match="heads of Phi3ForCausalLM can be switched off but not removed here"):
        export(head_model, HeadMask.of(head_model.grid, "decoder.0.0"), tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("place", ["/dev/null/x", "/proc/x/y"])
def test_a_place_that_cannot_be_written_gets_one_sentence(place: str) -> None:
    with pytest.raises(ValueError, match="could not write"):
        export(family("bert"), masks(family("bert").grid)["random"], place)


@pytest.mark.parametrize("proof", ["parameters_dense", {"parameters_dense": "x"}, None, []])
def test_a_broken_record_gets_one_sentence(tmp_path: Path, proof: object) -> None:
    (tmp_path / "headscope.json").write_text(json.dumps({"format": "headscope", "proof": proof}))
    with pytest.raises(ValueError, match=r"no readable headscope\.json"):
        verify(tmp_path)
