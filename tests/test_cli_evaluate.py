from __future__ import annotations

import json
from pathlib import Path

import pytest

from cli import main


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, object]:
    assert main([*arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_evaluate_as_json_keeps_its_shape_and_a_mask_costs(capsys: pytest.CaptureFixture[str]) -> None:
    whole = run(capsys, "evaluate", "looker", "--n", "60")
    assert set(whole) == {"metric", "value", "low", "high", "n", "split", "seconds"}
    assert (whole["metric"], whole["n"], whole["split"]) == ("top-1 accuracy", 60, "development")
    assert whole["low"] <= whole["value"] <= whole["high"]
    first_layer = " ".join(f"encoder.0.{head}" for head in range(6))
    masked = run(capsys, "evaluate", "looker", "--n", "60", "--mask", first_layer)
    assert masked["value"] < whole["value"]


def test_a_mask_may_be_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "mask.json"
    path.write_text(json.dumps({"grid": "encoder 6 x 6", "removed": ["encoder.0.1", "encoder.0.2", "encoder.0.3"]}))
    by_file = run(capsys, "evaluate", "looker", "--n", "40", "--split", "test", "--mask", str(path))
    by_text = run(
        capsys, "evaluate", "looker", "--n", "40", "--split", "test", "--mask", "encoder.0.1,encoder.0.2 encoder.0.3"
    )
    assert by_file["value"] == by_text["value"]


def test_fidelity_of_a_whole_model_to_itself_is_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "evaluate", "looker", "--n", "30", "--task", "fidelity")["value"] == 1.0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--task", "chess"], "no task 'chess'; known: "),
        (["--split", "train"], "no split 'train'; there are calibration, development, test"),
        (["--n", "0"], "0 examples of development; at least 1 is needed"),
        (["--task", "translation"], "looker"),
        (["--mask", "no-such-file.json"], "cannot read the mask no-such-file.json"),
        (["--data", "no-such-file.csv", "--columns", "text=a"], "no-such-file.csv"),
        (["--data", __file__, "--columns", "words=a"], "allowed is text=NAME, with pair=, label= or target="),
    ],
)
def test_bad_input_gives_one_line(capsys: pytest.CaptureFixture[str], arguments: list[str], message: str) -> None:
    assert main(["evaluate", "looker", *arguments]) == 2
    captured = capsys.readouterr()
    assert message in captured.err
    assert captured.err.count("\n") == 1


def test_the_specimens_are_listed_with_what_their_cards_say(capsys: pytest.CaptureFixture[str]) -> None:
    listed = run(capsys, "specimens")["specimens"]
    assert listed["looker"]["heads"] == "encoder 6 x 6"
    assert main(["specimens"]) == 0
    assert "handwritten digits" in capsys.readouterr().out
