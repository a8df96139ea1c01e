from __future__ import annotations

import csv
from pathlib import Path

import pytest

from headscope.models.loading.loader import load
from headscope.runs.store import Store
from tests.cli.conftest import Run

COMMAND = ["learn", "looker", "--gates", "dsp", "--keep", "9", "--steps", "4", "--finetune", "0"]
COMMAND += ["--training", "n_judged=20", "batch=4"]


def test_a_command_learns_and_writes_a_smaller_model(recorded: Run, printed: Run) -> None:
    found = recorded(*COMMAND)
    assert found["removed"] == 27
    assert load(Path(found["folder"])).n_parameters == found["parameters"]
    lines = printed(*COMMAND).splitlines()
    assert "27 heads removed of 36 with gates" in lines[0]
    assert lines[1].split() == ["top-1", "accuracy", "development", "test"]
    assert len([line for line in lines if "masked" in line]) == 2
    rows = list(csv.DictReader(printed(*COMMAND, "--csv").splitlines()))
    assert {row["head"]: float(row["gate"]) for row in rows} == found["gates"]
    assert sum(int(row["kept"]) for row in rows) == 9
    assert [run.kind for run in Store().runs()] == ["learn"]


def test_settings_reach_the_gates_and_the_training(recorded: Run) -> None:
    recorded(*COMMAND[:2], "--gates", "layerwise", "--setting", "penalty=0.5", "--weights", "frozen", *COMMAND[6:])
    spec = Store().runs()[0].spec
    assert spec["settings"] == {"penalty": 0.5}
    assert spec["training"] == {"n_judged": 20, "batch": 4}
    assert (spec["weights"], spec["n_steps"], spec["finetune"]) == ("frozen", 4, 0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--gates", "magic"], "no scheme of gates 'magic'; known: dsp, dsp-ste, l0, layerwise"),
        (["--setting", "size=1"], "no setting 'size'; there are: penalty, keep, rate"),
        (["--setting", "penalty=much"], "penalty=much; a value such as 0.02 is needed"),
        (["--training", "rate=quick"], "rate=quick; a value such as 0.0002 is needed"),
        (["--gates", "dsp", "--keep", "5", "--setting", "cool=900"], "400 steps for gates that cool in 900"),
        (["--gates", "layerwise", "--keep", "5"], "no setting 'keep' of the gates layerwise"),
    ],
)
def test_bad_input_is_one_sentence(refused: Run, arguments: list[str], message: str) -> None:
    assert message in refused("learn", "looker", *arguments)
    assert all(run.state == "failed" for run in Store().runs())
