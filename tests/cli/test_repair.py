from __future__ import annotations

import pytest

from headscope.models.loading.loader import load
from headscope.runs.store import Store
from tests.cli.conftest import Run

MASK = "encoder.0.0 encoder.0.1 encoder.0.2 encoder.2.0"
COMMAND = ("repair", "looker", "--mask", MASK, "--training", "n_judged=40")


def test_without_steps_the_heads_that_stay_are_rescaled(recorded: Run, printed: Run) -> None:
    found = recorded(*COMMAND)
    (run,) = Store().runs()
    assert run.spec["training"] == {"steps": 0, "n_judged": 40}
    assert (run.kind, run.spec["start"], found["steps"]) == ("finetune", "rescaled", 0)
    report = found["report"]
    assert list(report)[1:5] == ["unpruned", "pruned", "rescaled", "tuned"]
    assert {str(head) for head in load(found["folder"]).removed} == set(MASK.split())
    lines = printed(*COMMAND).splitlines()
    assert lines[0].startswith("Handwritten digits, test, 40 examples, run ")
    assert [line.split()[0] for line in lines[1:4]] == ["unpruned", "without", "rescaled"]
    assert lines[4].startswith(f"rescaling gives: {report['rescaling']['difference']:+.4g}, p = ")
    assert lines[-1] == f"written to {found['folder']}"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--steps", "-1"], "fine-tuning with steps -1; at least 0 is needed"),
        (["--start", "magic"], "no start 'magic'; allowed are plain, rescaled, scratch"),
        (["--mask", " "], "no heads to remove; give addresses such as encoder.0.3"),
        (["--training", "speed=3"], "no setting 'speed'; there are: steps, rate"),
    ],
)
def test_bad_input_is_one_sentence(refused: Run, arguments: list[str], message: str) -> None:
    assert message in refused(*COMMAND, *arguments)
