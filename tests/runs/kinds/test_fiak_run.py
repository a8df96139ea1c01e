from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from headscope.models.example_inputs import example_inputs, main_output
from headscope.models.loading.loader import load
from headscope.pruning.fiak.model_folder import load_without_scores
from headscope.pruning.fiak.priors_file import heads_in, read_priors
from headscope.runs.client import run_here
from headscope.runs.execution.model_cache import ModelCache
from headscope.runs.kind import Step, Workspace
from headscope.runs.kinds.fiak import FiakRun
from headscope.runs.run import DONE, FAILED, LONG
from headscope.runs.store import Store
from headscope.tasks.task_catalog import task

SHORT: dict[str, Any] = {"steps_priors": 6, "steps_tuning": 6, "batch": 8, "n": 60}


def steps_of(kind: FiakRun, folder: Path, points: list[dict[str, Any]]) -> Any:
    folder.mkdir(exist_ok=True)
    return kind.steps(Workspace(ModelCache(), folder, points, lambda _: None))


def ended(steps: Any, points: list[dict[str, Any]]) -> dict[str, Any]:
    while True:
        try:
            step: Step = next(steps)
        except StopIteration as stop:
            result: dict[str, Any] = stop.value
            return result
        if step.point is not None:
            points.append(step.point)


@pytest.mark.parametrize(
    ("settings", "title"),
    [
        ({"scores": 0.7}, "FiAK of looker: 70% of its scores"),
        ({"keys": 0.2, "scores": 0.0, "start": "scratch"}, "FiAK of looker: 20% of its keys, from the start"),
        (
            {"scores": 0.5, "keys": 0.1, "by": "random"},
            "FiAK of looker: 50% of its scores and 10% of its keys, at random",
        ),
    ],
)
def test_a_title_says_what_goes_how_it_is_chosen_and_from_where(settings: dict[str, Any], title: str) -> None:
    assert FiakRun("looker", **settings).title == title


def test_a_run_tells_every_stage_and_leaves_a_model_that_loads(tmp_path: Path) -> None:
    run = run_here(Store(tmp_path), FiakRun("looker", scores=0.7, keys=0.2, shared="layer", **SHORT))
    assert (run.state, run.lane, run.message) == (DONE, LONG, "")
    found = run.result
    assert found is not None
    assert list(found["measured"]) == ["dense", "priors", "pruned", "tuned"]
    assert {one["n"] for splits in found["measured"].values() for one in splits.values()} == {60}
    saved = found["savings"]
    assert (saved["keys"], saved["keys_kept"]) == (36 * 17, 36 * 14)  # 20 % of 17 keys are 3
    left = 6 * 17 * 14  # scores of a layer without those keys
    assert saved["scores_kept"] == 6 * (left - (left * 5 + 4) // 8)  # five eighths of them go
    assert saved["flops"] < saved["flops_dense"]
    assert found["difference"] < 1e-5
    assert {stage: len(layers) for stage, layers in found["diversity"].items()} == dict.fromkeys(found["measured"], 6)
    pruned = load_without_scores(run.folder / found["folder"])
    digits = task("digits")
    value = digits.metrics[0].estimate(digits.outcomes(pruned, "test", 60)).value
    assert value == found["measured"]["tuned"]["test"]["value"]
    priors, scores, keys = read_priors(run.folder / found["priors"], "encoder.0")
    assert priors.shape == (6, 17, 17)
    assert (scores.sum(), keys.sum()) == (saved["scores_kept"] // 6, 6 * 14)
    weights = np.minimum(priors, 1).mean(axis=(1, 2))
    assert found["heads"]["encoder.0.3"] == pytest.approx(float(weights[3]), rel=1e-5)
    points = Store(tmp_path).points(run.id)
    assert {point["phase"] for point in points} == {"priors", "tuning"}
    assert sum(sum(counts) for counts in points[0]["histograms"].values()) == 36 * 17 * 17


def test_a_run_that_was_killed_ends_as_if_nothing_had_happened(tmp_path: Path) -> None:
    kind = FiakRun("looker", scores=0.5, **SHORT)
    whole: list[dict[str, Any]] = []
    expected = ended(steps_of(kind, tmp_path / "whole", whole), whole)
    kept: list[dict[str, Any]] = []
    for n in (5, 9, 14):  # killed while priors are trained, while it is measured, and while it is fine-tuned
        for step in itertools.islice(steps_of(kind, tmp_path / "killed", kept), n):
            if step.point is not None:
                kept.append(step.point)
        kept.pop()  # the last point was not written in time
        torch.manual_seed(n)
    found = ended(steps_of(kind, tmp_path / "killed", kept), kept)
    assert found == expected
    assert kept == whole
    inputs = example_inputs(load("looker"))
    outputs = [main_output(load_without_scores(tmp_path / name / "pruned"), inputs) for name in ("whole", "killed")]
    assert torch.equal(*outputs)


def test_heads_are_removed_first(tmp_path: Path) -> None:
    run = run_here(Store(tmp_path), FiakRun("looker", scores=0.0, keys=0.3, prior="key", mask="encoder.0.1", **SHORT))
    assert run.result is not None
    assert "encoder.0.1" not in run.result["heads"]
    assert len(run.result["heads"]) == 35
    saved = run.result["savings"]
    assert (saved["keys"], saved["keys_kept"]) == (36 * 17, 35 * 12)
    assert saved["flops"] <= saved["flops_headless"] < saved["flops_dense"]
    assert list(run.result["measured"]) == ["dense", "heads", "priors", "pruned", "tuned"]
    assert heads_in(run.folder / run.result["priors"], "encoder.0") == [0, 2, 3, 4, 5]
    digits, whole = task("digits"), load("looker")
    value = digits.metrics[0].estimate(digits.outcomes(whole, "test", 60)).value
    assert run.result["measured"]["dense"]["test"]["value"] == value


def test_priors_can_be_seen_while_they_are_trained(tmp_path: Path) -> None:
    kind = FiakRun("looker", scores=0.5, **SHORT)
    seen = []
    for step in steps_of(kind, tmp_path / "run", []):
        if step.point is not None and step.point["value"] is not None and step.done in (0, 6, 7):
            priors, scores, _ = read_priors(tmp_path / "run" / "priors.npz", "encoder.0")
            seen.append((float(priors.std()) > 0, int(scores.sum())))
        if step.done > 6:
            break
    every = 6 * 17 * 17
    assert seen == [(False, every), (True, every), (True, every // 2), (True, every // 2)]


def test_the_model_on_the_shelf_stays_as_it_is(tmp_path: Path) -> None:
    shelf = ModelCache()
    looker = shelf.get("looker")
    before = main_output(looker, example_inputs(looker))
    kind = FiakRun("looker", scores=0.5, **SHORT)
    for _ in itertools.islice(kind.steps(Workspace(shelf, tmp_path, [], lambda _: None)), 12):
        assert torch.equal(main_output(looker, example_inputs(looker)), before)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"scores": 0.1, "keys": 0.2}, "at least as much as goes with the keys"),
        ({"prior": "key"}, "only keys can be pruned"),
        ({"form": "cosine"}, "no form 'cosine'"),
        ({"start": "anew"}, "no start 'anew'; allowed: trained, scratch"),
        ({"steps_priors": 0}, "steps 0; at least 1 is needed"),
        ({"mask": "encoder.9.9"}, "no head encoder.9.9"),
    ],
)
def test_what_cannot_be_run_is_one_sentence(tmp_path: Path, options: dict[str, Any], message: str) -> None:
    run = run_here(Store(tmp_path), FiakRun("looker", **SHORT | options))
    assert run.state == FAILED
    assert message in run.message
