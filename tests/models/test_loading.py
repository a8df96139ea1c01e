from __future__ import annotations

import json
from copy import deepcopy
from pathlib import Path
from typing import Any

import huggingface_hub
import pytest
import torch

from headscope.models.devices import pick_device, pick_dtype
from headscope.models.example_inputs import example_inputs, main_output
from headscope.models.loading.loader import HUB_FILES, load
from tests.families import family


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    family("bert").model.save_pretrained(tmp_path / "model")
    return tmp_path / "model"


def test_a_folder_loads_as_it_was_saved_and_tells_its_progress(folder: Path) -> None:
    told: list[str] = []
    loaded = load(folder, device="cpu", progress=told.append)
    inputs = example_inputs(loaded)
    torch.testing.assert_close(main_output(loaded, inputs), main_output(family("bert"), inputs))
    assert loaded.name == str(folder)
    assert told == ["reading the configuration", "reading the weights", "finding the heads"]


def test_precision_and_device_are_as_asked(folder: Path) -> None:
    assert load(folder, device="cpu", dtype="bfloat16").model.dtype == torch.bfloat16
    assert load(folder, device="cpu").model.dtype == torch.float32
    assert load(folder, device="cpu").device.type == "cpu"


def test_on_a_cpu_half_precision_is_read_as_float32_and_elsewhere_kept(folder: Path) -> None:
    deepcopy(family("bert").model).to(torch.bfloat16).save_pretrained(folder)
    assert load(folder, device="cpu").model.dtype == torch.float32
    assert pick_dtype("auto", torch.device("cuda")) == "auto"


def test_unknown_devices_and_precisions_are_refused() -> None:
    with pytest.raises(ValueError, match="no device 'gpu'; allowed are auto, cpu, cuda"):
        pick_device("gpu")
    with pytest.raises(ValueError, match="no device 'vulkan'; allowed are auto, cpu, cuda"):
        pick_device("vulkan")  # which torch knows
    with pytest.raises(ValueError, match="no device 'cuda:99' on this machine"):
        pick_device("cuda:99")
    with pytest.raises(ValueError, match="no precision 'int3'; allowed are auto, float32"):
        pick_dtype("int3", torch.device("cpu"))


def test_pickled_weights_are_refused_with_the_way_to_convert(folder: Path) -> None:
    (folder / "model.safetensors").unlink()
    torch.save(family("bert").model.state_dict(), folder / "pytorch_model.bin")
    with pytest.raises(ValueError, match=r"only pickled weights \(pytorch_model.bin\).*save_pretrained\(new_folder\)"):
        load(folder)


@pytest.mark.parametrize("cut", [0, 4, 1000, -1])
def test_truncated_weights_are_named(folder: Path, cut: int) -> None:
    weights = folder / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:cut])
    with pytest.raises(ValueError, match=r"model\.safetensors is broken or cut short"):
        load(folder)


def test_weights_that_do_not_fit_are_named(folder: Path) -> None:
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"hidden_size": 64}))
    with pytest.raises(ValueError, match=r"do not fit BertForSequenceClassification"):
        load(folder)
    (folder / "config.json").write_text(json.dumps(config | {"num_hidden_layers": 4}))
    with pytest.raises(ValueError, match=r"lacks 16 weights of BertForSequenceClassification, the first is bert"):
        load(folder)


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ("{", "is not valid JSON"),
        ("[]", "names the model type None: transformers does not know it"),
        ('{"model_type": "strange"}', "names the model type 'strange': transformers does not know it"),
        ('{"model_type": "strange", "auto_map": {"AutoModel": "x.Y"}}', "asks to run its own code, which is refused"),
        ('{"model_type": "bert", "num_attention_heads": "many"}', "is not a valid configuration|do not fit"),
    ],
)
def test_a_broken_configuration_gets_one_sentence(folder: Path, config: str, message: str) -> None:
    (folder / "config.json").write_text(config)
    with pytest.raises(ValueError, match=message) as caught:
        load(folder)
    assert "\n" not in str(caught.value)


def test_what_is_no_model_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"no config\.json in"):
        load(tmp_path)
    with pytest.raises(ValueError, match=r"no folder .*/none; give a folder with config\.json, a hub id"):
        load(tmp_path / "none")
    (tmp_path / "file").write_text("")
    with pytest.raises(ValueError, match="is a file; give the folder"):
        load(tmp_path / "file")


@pytest.mark.parametrize("name", ["owner/model-that-is-not-here", "no such name!", "..\\windows"])
def test_a_hub_id_without_a_network_gets_one_sentence(name: str) -> None:
    with pytest.raises(ValueError, match=r"no (model|folder)") as caught:
        load(name)
    assert "\n" not in str(caught.value)


def test_of_the_hub_only_files_that_are_read_and_no_subfolder_are_asked_for(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[dict[str, Any]] = []

    def snapshot(name: str, **given: Any) -> str:
        asked.append({"name": name, **given})
        return str(folder)

    monkeypatch.setattr(huggingface_hub, "snapshot_download", snapshot)
    load("owner/model", device="cpu")
    allowed = {"allow_patterns": list(HUB_FILES), "ignore_patterns": ["*/*"]}
    assert asked == [{"name": "owner/model", **allowed, "local_files_only": True}]
    assert "*.safetensors" in HUB_FILES and not [pattern for pattern in HUB_FILES if pattern.endswith((".py", ".bin"))]


@pytest.mark.parametrize("shard", ["weights.bin", "../elsewhere/model.safetensors", "/etc/passwd", 7])
def test_a_list_of_shards_may_name_only_safetensors_of_its_folder(folder: Path, shard: object) -> None:
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": {"classifier.bias": shard}}))
    with pytest.raises(ValueError, match="allowed are the safetensors files of its own folder"):
        load(folder)


def test_a_sharded_model_loads(tmp_path: Path) -> None:
    family("llama").model.save_pretrained(tmp_path / "sharded", max_shard_size="40KB")
    assert len(list((tmp_path / "sharded").glob("*.safetensors"))) > 1
    loaded = load(tmp_path / "sharded", device="cpu")
    inputs = example_inputs(loaded)
    torch.testing.assert_close(main_output(loaded, inputs), main_output(family("llama"), inputs))


@pytest.mark.parametrize("name", ["", "  ", "x" * 5000])
def test_what_is_no_name_at_all_gets_one_sentence(name: str) -> None:
    with pytest.raises(ValueError, match=r"no model|is no name of a folder"):
        load(name)
