from __future__ import annotations

import json
from pathlib import Path

import pytest

from headscope.cli.main import main
from tests.cli.conftest import Run


def test_evaluate_as_json_keeps_its_shape_and_a_mask_costs(recorded: Run) -> None:
    whole = recorded("evaluate", "looker", "--n", "60")
    assert set(whole) == {"metric", "value", "low", "high", "n", "split", "seconds"}
    assert (whole["metric"], whole["n"], whole["split"]) == ("top-1 accuracy", 60, "development")
    assert whole["low"] <= whole["value"] <= whole["high"]
    first_layer = " ".join(f"encoder.0.{head}" for head in range(6))
    masked = recorded("evaluate", "looker", "--n", "60", "--mask", first_layer)
    assert masked["value"] < whole["value"]


def test_a_mask_may_be_a_file(tmp_path: Path, recorded: Run) -> None:
    path = tmp_path / "mask.json"
    path.write_text(json.dumps({"grid": "encoder 6 x 6", "removed": ["encoder.0.1", "encoder.0.2", "encoder.0.3"]}))
    command = ("evaluate", "looker", "--n", "40", "--split", "test", "--mask")
    assert recorded(*command, str(path))["value"] == recorded(*command, "encoder.0.1,encoder.0.2 encoder.0.3")["value"]


def test_fidelity_of_a_whole_model_to_itself_is_one(recorded: Run) -> None:
    assert recorded("evaluate", "looker", "--n", "30", "--task", "fidelity")["value"] == 1.0


def test_a_language_model_is_judged_on_passages_that_count_once_however_many_windows_they_need(
    writer: str, recorded: Run, printed: Run
) -> None:
    found = recorded("evaluate", writer)
    assert (found["metric"], found["n"]) == ("perplexity", 24)
    assert recorded("evaluate", writer, "--n", "6")["n"] == 6
    assert "Passages in six registers, development" in printed("evaluate", writer)


def test_people_read_every_metric_and_what_it_means(printed: Run) -> None:
    shown = printed("evaluate", "looker", "--n", "30", "--mask", "encoder.0.1")
    assert shown.startswith("looker, 1 heads masked: Handwritten digits, development")
    assert "top-5 accuracy" in shown
    assert "share of images with the right digit" in shown


def test_rows_that_were_skipped_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "own.tsv"
    rows = [f"The dog {number} sleeps.\tThe cat\tneutral" for number in range(80)]
    path.write_text("\n".join(["text\tpair\tlabel", *rows, "too few"]))
    assert main(["evaluate", "reader", "--text", str(path), "--n", "10", "--json"]) == 0
    captured = capsys.readouterr()
    assert json.loads(captured.out)["metric"] == "accuracy"
    assert captured.err == "headscope: skipped own.tsv, line 82: number of fields: 1 here, 3 in the header\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--task", "chess"], "no task 'chess'; known: "),
        (["--split", "train"], "no split 'train'; there are calibration, development, test"),
        (["--n", "0"], "0 examples of development; at least 1 is needed"),
        (["--task", "translation"], "looker"),
        (["--mask", "no-such-file.json"], "cannot read the mask no-such-file.json"),
        (["--mask", "BINARY"], "it is not UTF-8"),
        (["--data", "no-such-file.csv", "--columns", "text=a"], "no-such-file.csv"),
        (["--data", __file__, "--columns", "words=a"], "allowed is text=NAME, with pair=, label= or target="),
    ],
)
def test_bad_input_is_one_sentence(tmp_path: Path, refused: Run, arguments: list[str], message: str) -> None:
    binary = tmp_path / "mask.json"
    binary.write_bytes(b"\xff\xfe")
    assert message in refused("evaluate", "looker", *[str(binary) if one == "BINARY" else one for one in arguments])
