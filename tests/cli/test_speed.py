from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from headscope.pruning.evaluation import speed
from tests.cli.conftest import Run

COMMAND = ("speed", "looker", "--mask", "encoder.1.0 encoder.1.1", "--batches", "1,2")


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(speed, "ROUNDS", 2)
    monkeypatch.setattr(speed, "SHORTEST", 0.0)


def test_speed_as_json_keeps_its_shape(recorded: Run) -> None:
    found = recorded(*COMMAND)
    assert {"mask", "removed", "timings", "sentence", "parameters", "bytes", "device", "load"} <= set(found)
    assert (found["mask"], found["removed"]) == ("encoder.1.0 encoder.1.1", 2)
    one = found["timings"][1]
    assert one["batch"] == 2
    assert one["dense"]["low"] <= one["dense"]["median"] <= one["dense"]["high"]
    assert one["predicted"] > 1


def test_programs_read_a_table_and_people_a_sentence(printed: Run) -> None:
    rows = list(csv.DictReader(printed(*COMMAND, "--csv").splitlines()))
    assert [row["batch"] for row in rows] == ["1", "2"]
    assert float(rows[0]["dense_per_second"]) == pytest.approx(1 / float(rows[0]["dense"]))
    assert rows[0]["length"] == ""
    shown = printed(*COMMAND)
    assert shown.startswith("2 heads removed, ")
    assert "parameters before" in shown


def test_the_same_heads_in_another_order_or_in_a_file_are_the_same_run(tmp_path: Path, recorded: Run) -> None:
    first = recorded(*COMMAND)
    turned = recorded("speed", "looker", "--mask", "encoder.1.1,encoder.1.0", "--batches", "1 2")
    path = tmp_path / "mask.json"
    path.write_text(json.dumps({"grid": "encoder 6 x 6", "removed": ["encoder.1.1", "encoder.1.0"]}))
    assert first == turned == recorded("speed", "looker", "--mask", str(path), "--batches", "1,2")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--mask", ""], "no heads to remove; give addresses such as encoder.0.3"),
        (["--mask", "encoder.9.9"], "no head encoder.9.9 in this model; it has encoder 6 x 6"),
        (["--mask", "missing.json"], "cannot read the mask missing.json"),
        (["--mask", "encoder.0.0", "--batches", "one"], "--batches 'one'; allowed are numbers from 1 to 1000000"),
        (["--mask", "encoder.0.0", "--lengths", "0"], "--lengths '0'; allowed are numbers from 1 to 1000000"),
    ],
)
def test_bad_input_is_one_sentence(refused: Run, arguments: list[str], message: str) -> None:
    assert message in refused("speed", "looker", *arguments)
