from __future__ import annotations

import json
from pathlib import Path

import pytest
from safetensors.torch import load_file, save_file

from cli import main
from tests.families import family


@pytest.fixture
def folder(tmp_path: Path) -> str:
    family("marian").model.save_pretrained(tmp_path / "model")
    return str(tmp_path / "model")


def test_heads_as_json_keeps_its_shape(folder: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["heads", folder, "--json"]) == 0
    banks = [{"bank": bank, "layers": 3, "heads": [4, 4, 4]} for bank in ("encoder", "decoder", "cross")]
    assert json.loads(capsys.readouterr().out) == {"model": folder, "heads": 36, "banks": banks}


def test_heads_prints_the_grid(folder: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["heads", folder]) == 0
    printed = capsys.readouterr().out
    assert "36 heads (encoder 3 x 4, decoder 3 x 4, cross 3 x 4)" in printed
    assert printed.count("layer  2  0  1  2  3") == 3


def test_prune_then_verify_then_heads(folder: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = str(tmp_path / "out")
    assert main(["prune", folder, "--heads", "encoder.0.3 cross.2.1", "--out", out]) == 0
    assert "2 of 36 heads removed" in capsys.readouterr().out
    assert main(["verify", out, "--json"]) == 0
    proof = json.loads(capsys.readouterr().out)
    assert set(proof) == {"equal", "max_difference", "parameters", "parameters_dense", "bytes"}
    assert proof["equal"] is True
    assert proof["parameters_dense"] - proof["parameters"] == 2 * (3 * (8 * 32 + 8) + 32 * 8)
    assert main(["heads", out]) == 0
    assert "layer  0  0  1  2  ·" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["heads", "/no/such/folder"], "headlight: no folder /no/such/folder"),
        (["prune", "FOLDER", "--heads", "encoder.9.9", "--out", "OUT"], "headlight: no head encoder.9.9 in this model"),
        (["prune", "FOLDER", "--heads", "first", "--out", "OUT"], "headlight: no head address 'first'"),
        (["prune", "FOLDER", "--heads", "encoder.0.0", "--out", "FOLDER"], "is there already"),
        (["verify", "FOLDER"], "no readable headlight.json"),
    ],
)
def test_bad_input_gives_one_line_and_exit_code_2(
    folder: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    names = {"FOLDER": folder, "OUT": str(tmp_path / "out")}
    assert main([names.get(argument, argument) for argument in arguments]) == 2
    captured = capsys.readouterr()
    assert message in captured.err
    assert captured.err.count("\n") == 1
    assert captured.out == ""


def test_verify_tells_a_difference_by_its_exit_code(folder: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert main(["prune", folder, "--heads", "encoder.0.3", "--out", str(out)]) == 0
    weights = load_file(out / "model.safetensors")
    weights["model.encoder.layers.1.fc1.bias"] += 0.1
    save_file(weights, out / "model.safetensors", {"format": "pt"})
    assert main(["verify", str(out)]) == 1


def test_pruning_no_heads_is_refused(folder: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["prune", folder, "--heads", " ", "--out", str(tmp_path / "out")]) == 2
    assert "no heads to remove" in capsys.readouterr().err
