from __future__ import annotations

from pathlib import Path

import pytest
from safetensors.torch import load_file, save_file

from headscope.cli.main import main
from tests.cli.conftest import Run

PROOF = {"equal", "max_difference", "parameters", "parameters_dense", "bytes", "positions", "mask_effect", "tolerance"}


def test_prune_then_verify_then_heads(folder: str, tmp_path: Path, printed: Run, recorded: Run) -> None:
    out = str(tmp_path / "out")
    assert "2 of 36 heads removed" in printed("prune", folder, "--heads", "encoder.0.3 cross.2.1", "--out", out)
    proof = recorded("verify", out)
    assert set(proof) == PROOF
    assert proof["equal"] is True
    assert proof["parameters_dense"] - proof["parameters"] == 2 * (3 * (8 * 32 + 8) + 32 * 8)
    assert proof["positions"] >= 32 and proof["mask_effect"] > proof["tolerance"]
    assert "equal to the masked model" in printed("verify", out)
    assert "layer  0  0  1  2  ·" in printed("heads", out)


def test_prune_as_json_keeps_its_shape(folder: str, tmp_path: Path, recorded: Run) -> None:
    proof = recorded("prune", folder, "--heads", "encoder.0.3", "--out", str(tmp_path / "out"), "--format", "stock")
    assert set(proof) == PROOF
    assert proof["equal"] is True


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["prune", "FOLDER", "--heads", "encoder.9.9", "--out", "OUT"], "no head encoder.9.9 in this model"),
        (["prune", "FOLDER", "--heads", "first", "--out", "OUT"], "no head address 'first'"),
        (["prune", "FOLDER", "--heads", " ", "--out", "OUT"], "no heads to remove"),
        (["prune", "FOLDER", "--heads", "encoder.0.0", "--out", "FOLDER"], "is there already"),
        (["prune", "FOLDER", "--heads", "encoder.0.0", "--out", "OUT", "--format", "zip"], "no format 'zip'"),
        (["verify", "FOLDER"], "no readable headscope.json"),
    ],
)
def test_bad_input_is_one_sentence(
    folder: str, tmp_path: Path, refused: Run, arguments: list[str], message: str
) -> None:
    names = {"FOLDER": folder, "OUT": str(tmp_path / "out")}
    assert message in refused(*[names.get(argument, argument) for argument in arguments])
    assert not (tmp_path / "out").exists()


def test_verify_tells_a_difference_by_its_exit_code(folder: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert main(["prune", folder, "--heads", "encoder.0.3", "--out", str(out)]) == 0
    weights = load_file(out / "model.safetensors")
    weights["model.encoder.layers.1.fc1.bias"] += 0.1
    save_file(weights, out / "model.safetensors", {"format": "pt"})
    assert main(["verify", str(out)]) == 1
