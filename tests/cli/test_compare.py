from __future__ import annotations

import csv

import pytest

from headscope.runs.store import Store
from tests.cli.conftest import Run

COMMAND = ["compare", "looker", "--keep", "9", "4", "--ways", "gradient", "scratch", "--seeds", "0", "--steps", "2"]
COMMAND += ["--finetune", "0", "--scratch", "2", "--training", "n_judged=8", "batch=4", "--n", "16"]


def test_ways_are_compared_at_equal_numbers_of_heads(recorded: Run, printed: Run) -> None:
    found = recorded(*COMMAND)
    assert [(one["way"], one["keep"]) for one in found["entries"]] == [
        ("gradient", 9), ("scratch", 9), ("gradient", 4), ("scratch", 4)
    ]  # fmt: skip
    lines = printed(*COMMAND).splitlines()
    assert "with all 36 heads" in lines[0]
    assert [line.split("  ")[0] for line in lines[1:]] == [
        "weights as they were", "gradient order", "after training", "gradient order", "new weights"
    ]  # fmt: skip
    rows = list(csv.DictReader(printed(*COMMAND, "--csv").splitlines()))
    assert [row["old_weights"] == "" for row in rows] == [False, True, False, True]
    assert float(rows[0]["trained"]) == found["entries"][0]["trained"]["value"]
    assert [run.kind for run in Store().runs()] == ["equal-k"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--ways", "magic"], "no way 'magic' to choose heads; known: dsp"),
        (["--training", "rate=quick"], "rate=quick; a value such as 0.0002 is needed"),
        (["--keep", "99"], "99 heads to keep of 36; from 1 to 36 are allowed"),
    ],
)
def test_bad_input_is_one_sentence(refused: Run, arguments: list[str], message: str) -> None:
    assert message in refused(*COMMAND, *arguments)
