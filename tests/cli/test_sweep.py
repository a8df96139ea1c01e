from __future__ import annotations

import csv

import pytest

from headscope.runs.store import Store
from tests.cli.conftest import Run

COMMAND = ("sweep", "looker", "--step", "0.5", "--n", "30", "--n-scoring", "4")


def test_the_json_is_what_was_promised(recorded: Run) -> None:
    found = recorded(*COMMAND)
    assert list(found) == ["order", "points", "random"]
    assert len(found["order"]) == 36
    shown = ["removed", "value", "low", "high", "loss", "parameters"]
    assert all(list(point) == shown for points in (found["points"], *found["random"]) for point in points)
    assert [point["removed"] for point in found["points"]] == [0, 18, 36]
    assert [[point["removed"] for point in points] for points in found["random"]] == [[18, 36]] * 5
    (run,) = Store().runs()
    assert (run.kind, run.state) == ("sweep", "done")
    assert [point["value"] for point in run.result["points"]] == [point["value"] for point in found["points"]]
    assert recorded(*COMMAND) == found
    assert len(Store().runs()) == 1


def test_people_read_a_table_and_programs_every_point(recorded: Run, printed: Run) -> None:
    found = recorded(*COMMAND)
    lines = printed(*COMMAND).splitlines()
    assert lines[0].startswith("Handwritten digits, development, 30 examples, run ")
    assert [line.split()[0] for line in lines[2:5]] == ["0", "18", "36"]
    middle = [points[0]["value"] for points in found["random"]]
    assert f"{sum(middle) / 5:.4g} ({min(middle):.4g} to {max(middle):.4g})" in lines[3]
    assert "significantly worse than the unpruned model (exact McNemar, p < 0.01): " in lines[5]
    rows = list(csv.DictReader(printed(*COMMAND, "--csv").splitlines()))
    assert [row["series"] for row in rows] == ["order"] * 3 + [f"random {seed}" for seed in range(5) for _ in range(2)]
    assert [float(row["value"]) for row in rows[:3]] == [point["value"] for point in found["points"]]
    assert rows[0]["p"] == ""
    assert len(rows[1]["mask"].split()) == 18


def test_what_is_chosen_reaches_the_run(recorded: Run) -> None:
    recorded(
        *COMMAND, "--strategy", "reverse", "--method", "taylor", "--scope", "layer", "--at-least", "2",
        "--banks", "encoder", "--seeds", "6",
    )  # fmt: skip
    (run,) = Store().runs()
    assert run.spec["settings"] == {"scope": "layer", "at_least": 2}
    assert {name: run.spec[name] for name in ("strategy", "method", "banks", "seeds", "step")} == {
        "strategy": "reverse", "method": "taylor", "banks": "encoder", "seeds": 6, "step": 0.5,
    }  # fmt: skip
    assert [point["removed"] for point in run.result["points"]] == [0, 18, 24]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--strategy", "best"], "no strategy 'best'; known: fisher, greedy"),
        (["--strategy", "random", "--scope", "layer"], "no setting 'scope' of the strategy random"),
        (["--method", "list"], "no importance method 'list'"),
        (["--step", "2"], "steps of 2 of all heads"),
        (["--seeds", "1"], "1 random orders; at least 5 are needed"),
        (["--n", "0"], "0 examples of development"),
    ],
)
def test_bad_input_is_one_sentence(refused: Run, arguments: list[str], message: str) -> None:
    assert message in refused(*COMMAND, *arguments)
