from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from headscope.pruning.fiak.model_folder import load_without_scores
from headscope.runs.kind import kind_of
from headscope.runs.store import Store
from tests.cli.conftest import Run

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
    assert lines[4].startswith(f"  fine-tuned    top-1 accuracy {value:.4g}, 95 % ")
    saved = found["savings"]
    assert f"  {saved['scores_kept']:,} of 10,404 scores and 504 of 612 keys are left" in lines
    printed(*shlex.split(kind_of(run).command)[1:])
    assert len(Store().runs()) == 1


def test_the_whole_model_is_what_a_run_without_heads_is_compared_with(recorded: Run, printed: Run) -> None:
    command = ("fiak", "looker", "--mask", "encoder.3.2,encoder.0.1", "--steps", "1", "--batch", "4", "--n", "20")
    found = recorded(*command, "--start", "scratch", "--form", "distance")
    (run,) = Store().runs()
    assert (run.spec["mask"], run.spec["start"]) == ("encoder.0.1 encoder.3.2", "scratch")
    lines = printed(*command, "--start", "scratch", "--form", "distance").splitlines()
    assert [line.split(" top-1")[0].strip() for line in lines[1:6]] == [
        "as it was", "without heads", "with priors", "pruned", "fine-tuned",
    ]  # fmt: skip
    share = 100 * found["savings"]["flops_headless"] / found["savings"]["flops_dense"]
    assert f"  without the heads alone {share:.1f} % of its operations" in lines


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
