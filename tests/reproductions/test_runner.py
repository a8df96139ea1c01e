"""The runner of the reproductions: it resumes, it takes no record for another, it stands still when it is asked to."""

from __future__ import annotations

import json
import os
import shutil
import signal
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from headscope.models.loading.known_models import specimen_folder
from headscope.pruning.training.fine_tuning import FineTuning
from headscope.runs.store import Store
from reproductions import records, runner
from reproductions.progress import page
from reproductions.runner import PAUSE, Runner
from reproductions.trial import FINETUNE, NONE, Heads, Trial
from tests.runs.killing import KILLED, forked

TRAINING = {"steps": 4, "every": 2, "n_judged": 8, "batch": 4, "rate": 1e-3, "keep_step": "last"}
TINY = Trial(
    "paper", "A claim.", "looker", 1, "all", "none", 0, FINETUNE, {"training": TRAINING}, 4, Heads(NONE)
)  # fmt: skip


class Killed(Runner):
    """Ends its process after step 3."""

    n_looks = 0

    def between(self, *_: object) -> None:
        self.n_looks += 1
        if self.n_looks == 5:  # at the start, after the first judgement, and after each of three steps
            os.kill(os.getpid(), signal.SIGKILL)


def record_in(home: Path) -> dict[str, Any]:
    """The record that a runner writes, read again."""
    Runner(Store(home), home / "records").work([TINY])
    found = records.found(TINY, home / "records")
    assert found is not None
    return found


def test_a_trial_that_was_killed_goes_on_and_ends_in_the_same_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken, whole = tmp_path / "broken", tmp_path / "whole"
    assert forked(lambda: Killed(Store(broken), broken / "records").work([TINY]))[0] == KILLED
    assert not list((broken / "records").glob("*"))
    trained: list[int] = []
    train_step = FineTuning.train_step

    def train_step_watched(self: FineTuning) -> None:
        trained.append(self.step)
        train_step(self)

    monkeypatch.setattr(FineTuning, "train_step", train_step_watched)
    resumed, undisturbed = record_in(broken), record_in(whole)
    assert trained == [2, 3, 0, 1, 2, 3]  # the last checkpoint is that of step 2
    assert [point["step"] for point in resumed["curve"]] == [0, 2, 4]
    assert resumed | {"seconds": 0} == undisturbed | {"seconds": 0}


def test_a_record_of_another_model_or_of_other_settings_is_not_taken_for_done(tmp_path: Path) -> None:
    model = tmp_path / "model"
    shutil.copytree(specimen_folder("looker"), model)
    trial = replace(TINY, model=str(model))
    work = Runner(Store(tmp_path), tmp_path)
    record = {"fingerprint": records.fingerprint(str(model)), "trial": trial.to_json()}
    path = tmp_path / "record.json"
    path.write_text(json.dumps(record))

    def is_done(asked: Trial) -> bool:
        return records.found(asked, tmp_path) is not None

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(records, "path_of", lambda *_: path)
        assert is_done(trial)
        assert not list(work.left([trial]))
        assert not is_done(replace(trial, steps=5))
        config = json.loads((model / "config.json").read_text())
        (model / "config.json").write_text(json.dumps(config | {"layer_norm_eps": 0.5}))
        assert not is_done(trial)
        assert list(work.left([trial])) == [trial]


def test_a_trial_waits_for_the_one_whose_heads_it_takes(tmp_path: Path) -> None:
    control = replace(TINY, way="same", heads=Heads("same", like=TINY.name))
    work = Runner(Store(tmp_path), tmp_path)
    assert list(work.left([control, TINY])) == [TINY]
    records.write(TINY, {"fingerprint": records.fingerprint("looker"), "trial": TINY.to_json()}, tmp_path)
    assert list(work.left([control, TINY])) == [control]


def test_the_runner_stands_still_while_pause_is_there_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = Runner(Store(tmp_path), tmp_path)
    (tmp_path / "pid").write_text("1\n")
    looks: list[str] = []

    def look(_: float) -> None:
        looks.append(page([TINY], tmp_path, tmp_path))
        if len(looks) == 3:
            (tmp_path / PAUSE).unlink()

    monkeypatch.setattr(runner.time, "sleep", look)
    work.between(TINY.name, 1, 4)
    assert not looks
    (tmp_path / PAUSE).touch()
    work.between(TINY.name, 2, 4)
    assert len(looks) == 3
    assert all("It stands still: remove" in told and f"running  {TINY.name}: 50%" in told for told in looks)
    assert "It runs" in page([TINY], tmp_path, tmp_path)


def test_a_trial_that_fails_is_left_and_the_others_are_done(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    def do(self: Runner, trial: Trial) -> dict[str, Any]:
        seen.append(trial.seed)
        if trial.seed == 0:
            raise ValueError("the loss is nan")
        record = {
            "fingerprint": records.fingerprint("looker"),
            "trial": trial.to_json(),
            "final": {"test": {"value": 1}},
        }
        records.write(trial, record, self.folder)
        return record

    monkeypatch.setattr(Runner, "do", do)
    work = Runner(Store(tmp_path), tmp_path)
    work.work([TINY, replace(TINY, seed=1)])
    assert seen == [0, 1]
    assert work.failed == {TINY.name: "the loss is nan"}
