from __future__ import annotations

import pytest

from tests.cli.conftest import Run

COMMAND = ("budget", "looker", "--n", "40", "--keep")


def test_budget_as_json_keeps_its_shape_and_its_budgets(recorded: Run) -> None:
    found = recorded(*COMMAND, "accuracy within 20 points", "at most 70 % of heads")
    assert {"budgets", "met", "mask", "removed", "point", "unpruned", "test", "cost", "timings"} <= set(found)
    assert found["budgets"] == ["accuracy within 20 points", "at most 70 % of heads"]
    assert found["met"]
    assert found["removed"] == len(found["mask"].split()) == 11
    assert found["point"]["value"] >= found["unpruned"]["value"] - 0.2


def test_people_read_what_it_costs(printed: Run) -> None:
    shown = printed(*COMMAND, "at most 1 % of parameters")
    assert shown.startswith(
        "Not possible: at most 1 % of parameters. The most that can be had is 36 of 36 heads removed"
    )
    assert "\n  test " in shown
    assert "\nmask: encoder.0.0 " in shown


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--keep", "it small"], "no budget 'it small'; allowed are 'accuracy within 1 point'"),
        (["--keep", "BLEU within 1 point"], "this model is judged by top-1 accuracy, or by its loss"),
        (["--keep", "cache halved"], "a budget for the key/value cache; this model has none"),
        (["--keep", "heads halved", "--method", "magic"], "no importance method 'magic'"),
        (["--keep", "heads halved", "--banks", "cross"], "no bank 'cross'; this model has: encoder"),
    ],
)
def test_bad_input_is_one_sentence(refused: Run, arguments: list[str], message: str) -> None:
    assert message in refused("budget", "looker", "--n", "20", *arguments)
