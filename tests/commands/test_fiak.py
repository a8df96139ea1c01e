from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from jobs.kind import kind_of
from jobs.store import Store
from pruning.fiak.saving import load_without_scores
from tests.commands.conftest import Run

COMMAND = ("fiak", "looker", "--scores", "0.7", "--keys", "0.2", "--steps", "2", "3", "--batch", "4", "--n", "40")


def test_people_and_programs_are_told_the_same(recorded: Run, printed: Run) -> None:
    found = recorded(*COMMAND)
    (run,) = Store().runs()
    assert (run.kind, run.state, run.id) == ("fiak", "done", found["run"])
    assert (run.spec["steps_priors"], run.spec["steps_tuning"]) == (2, 3)
    assert found["measured"] == run.result["measured"]
    assert load_without_scores(Path(found["folder"])).grid.describe() == "encoder 6 x 6"
    lines = printed(*COMMAND).splitlines()
    value = found["measured"]["tuned"]["test"]["value"]
    assert lines[0] == f"Handwritten digits, test, run {run.id}"
    assert lines[4].startswith(f"  fine-tuned   top-1 accuracy {value:.4g}, 95 % ")
    saved = found["savings"]
    assert f"  {saved['scores_kept']:,} of 10,404 scores and 504 of 612 keys are left" in lines
    printed(*shlex.split(kind_of(run).command)[2:])
    assert len(Store().runs()) == 1


def test_priors_of_keys_prune_no_scores(recorded: Run) -> None:
    short = ("--steps", "1", "--batch", "4", "--n", "20")
    found = recorded("fiak", "looker", "--prior", "key", "--keys", "0.3", "--shared", "layer", *short)
    assert Store().runs()[0].spec["scores"] == 0
    assert found["savings"]["keys_kept"] == 36 * 12
    assert found["savings"]["flops"] == found["savings"]["flops_if_skipped"] < found["savings"]["flops_dense"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--scores", "0.1", "--keys", "0.2"], "at least as much as goes with the keys"),
        (["--prior", "key"], "only keys can be pruned"),
        (["--split", "calibration"], "split 'calibration'; allowed are development and test"),
        (["--mask", "encoder.9.0"], "no head encoder.9.0"),
    ],
)
def test_bad_input_is_one_sentence(refused: Run, arguments: list[str], message: str) -> None:
    assert message in refused("fiak", "looker", *arguments)
