from __future__ import annotations

import csv

import pytest

from headscope.runs.store import Store
from tests.cli.conftest import Run

COMMAND = ("ablate", "looker", "--n", "6", "--n-scoring", "4", "--step", "1")


def test_the_tables_as_json_as_text_and_as_a_file(recorded: Run, printed: Run) -> None:
    found = recorded(*COMMAND)
    assert list(found) == ["task", "metric", "higher_is_better", "whole", "alone", "layers", "second", "banks"]
    (run,) = Store().runs()
    assert (run.kind, run.state, run.result["alone"]) == ("ablations", "done", found["alone"])
    lines = printed(*COMMAND).splitlines()
    marked = sum(row["significant"] for row in found["alone"])
    assert lines[0].startswith("Handwritten digits, development, 6 examples, top-1 accuracy ")
    assert lines[2].startswith(
        f"heads removed alone: {marked} of 36 change top-1 accuracy significantly (exact McNemar,"
    )
    largest = max(found["alone"], key=lambda row: abs(row["difference"]))
    assert lines[3].split()[0] == largest["head"]
    assert "every layer reduced to its best head, chosen on development, on test (6 examples):" in lines
    assert lines[-1].split()[0] == "encoder"
    rows = list(csv.DictReader(printed(*COMMAND, "--csv").splitlines()))
    assert [row["head"] for row in rows] == [row["head"] for row in found["alone"]]
    assert [float(row["difference"]) for row in rows] == [row["difference"] for row in found["alone"]]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--second", "music"], "no task 'music'; known: "),
        (["--method", "list"], "no importance method 'list'"),
        (["--step", "3"], "steps of 3 of all heads"),
    ],
)
def test_bad_input_is_one_sentence(refused: Run, arguments: list[str], message: str) -> None:
    assert message in refused(*COMMAND, *arguments)
