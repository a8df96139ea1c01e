from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from headscope.models.loading.loader import load
from headscope.pruning.masks import HeadMask
from headscope.runs.client import run_here
from headscope.runs.execution.model_cache import ModelCache
from headscope.runs.kind import Step, Workspace
from headscope.runs.kinds.finetune import CHECKPOINT, MODEL, FinetuneRun
from headscope.runs.run import DONE, FAILED, LONG
from headscope.runs.store import Store
from headscope.tasks.task_catalog import task

TRAINING = {"steps": 8, "batch": 8, "every": 4, "n_judged": 20, "rate": 1e-3}
KIND = FinetuneRun("looker", mask="encoder.0.0 encoder.1.1 encoder.2.0", training=TRAINING)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], list[dict[str, Any]], Path]:
    """A run that nobody disturbed: its result, its points and its folder."""
    store = Store(tmp_path_factory.mktemp("whole"))
    run = run_here(store, KIND)
    assert (run.state, run.lane) == (DONE, LONG)
    assert run.result is not None
    return run.result, store.points(run.id), run.folder


def followed(folder: Path, points: list[dict[str, Any]], until: int) -> tuple[list[Step], dict[str, Any] | None]:
    """What a worker sees until it is killed after so many steps; it writes no points."""
    steps = KIND.steps(Workspace(ModelCache(), folder, points, lambda _: None))
    seen: list[Step] = []
    while len(seen) < until:
        try:
            seen.append(next(steps))
        except StopIteration as end:
            return seen, end.value
    return seen, None


def test_the_result_is_a_folder_that_loads_as_a_smaller_model(whole: Any) -> None:
    result, points, folder = whole
    tuned, given = load(folder / result["folder"]), load("looker")
    assert {str(head) for head in tuned.removed} == set(KIND.mask.split())
    assert tuned.n_parameters == result["parameters"] < result["parameters_dense"] == given.n_parameters
    assert [point["step"] for point in points] == [0, 4, 5, 8]
    assert points == result["history"]
    assert result["best_step"] in (0, 4, 8)
    assert not (folder / CHECKPOINT).exists()


def test_the_report_is_on_test_and_compares_with_both_ends(whole: Any) -> None:
    report = whole[0]["report"]
    assert report["split"] == "test"
    assert {report[name]["n"] for name in ("unpruned", "pruned", "tuned")} == {20}
    difference = report["tuned"]["value"] - report["pruned"]["value"]
    assert report["gain"]["difference"] == pytest.approx(difference)


@pytest.mark.parametrize("killed_after", [1, 2, 4, 7, 9])
def test_a_run_killed_and_taken_up_again_writes_the_same_model_bit_by_bit(
    whole: Any, tmp_path: Path, killed_after: int
) -> None:
    result, points, folder = whole
    seen, ended = followed(tmp_path, [], killed_after)
    assert ended is None
    told = [step.point for step in seen if step.point is not None]
    kept = told[:-1]  # the last point was found, but not written any more
    again, ended = followed(tmp_path, kept, 100)
    assert kept + [step.point for step in again if step.point is not None] == points
    assert ended == result
    for path in sorted((folder / MODEL).glob("*")):
        assert (tmp_path / MODEL / path.name).read_bytes() == path.read_bytes()


def test_points_that_are_there_are_not_told_again(whole: Any, tmp_path: Path) -> None:
    _, points, _ = whole
    seen, _ = followed(tmp_path, points[:2], 100)  # no checkpoint: it begins again
    assert [step.point["step"] for step in seen if step.point is not None] == [5, 8]


def test_a_rescaled_start_begins_elsewhere(whole: Any, tmp_path: Path) -> None:
    kind = FinetuneRun("looker", mask=KIND.mask, training=TRAINING | {"steps": 1}, start="rescaled")
    run = run_here(Store(tmp_path), kind)
    assert run.state == DONE, run.message
    assert run.result is not None
    assert run.result["history"][-1]["loss"] != whole[0]["history"][-1]["loss"]
    assert list(run.result["report"])[1:5] == ["unpruned", "pruned", "rescaled", "tuned"]
    assert "rescaled" not in whole[0]["report"]


def test_without_training_it_is_rescaled_and_nothing_else(tmp_path: Path) -> None:
    mask = HeadMask.of(
        load("looker").grid, " ".join(f"encoder.{layer}.{head}" for layer in (0, 2) for head in range(4))
    )
    kind = FinetuneRun("looker", mask=str(mask), training={"steps": 0, "n_judged": None}, start="rescaled")
    run = run_here(Store(tmp_path), kind)
    assert run.state == DONE, run.message
    assert run.result is not None
    report = run.result["report"]
    assert (run.result["steps"], len(run.result["history"])) == (0, 1)
    assert report["tuned"] == report["rescaled"]
    assert report["gain"] == report["rescaling"]
    digits, found = task("digits"), load(run.folder / run.result["folder"])
    expected = digits.metrics[0].estimate(digits.outcomes(found, "test", None)).value
    assert report["rescaled"]["value"] == expected > report["pruned"]["value"]


def test_new_weights_begin_at_chance(tmp_path: Path) -> None:
    kind = FinetuneRun("looker", mask=KIND.mask, training=TRAINING | {"steps": 1, "n_judged": None}, start="scratch")
    run = run_here(Store(tmp_path), kind)
    assert run.state == DONE, run.message
    assert run.result is not None
    assert run.result["history"][0]["value"] < 0.3 < 0.8 < run.result["report"]["pruned"]["value"]


def test_bad_settings_are_one_sentence(tmp_path: Path) -> None:
    store = Store(tmp_path)
    run = run_here(store, FinetuneRun("looker", training={"speed": 3}))
    assert (run.state, "training settings speed; known are steps, rate" in run.message) == (FAILED, True)
    run = run_here(store, FinetuneRun("looker", start="magic"))
    assert run.message == "no start 'magic'; allowed are plain, rescaled, scratch"
