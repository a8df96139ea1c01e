from __future__ import annotations

import shutil
from pathlib import Path

from headscope.models.loading.known_models import specimen_folder
from headscope.runs.client import run_here
from headscope.runs.kinds.dynamics import DynamicsRun
from headscope.runs.run import FAILED
from headscope.runs.store import Store


def test_checkpoints_are_judged_one_after_the_other(tmp_path: Path) -> None:
    folders = [tmp_path / f"checkpoint-{step}" for step in (10, 20)]
    for folder in folders:
        shutil.copytree(specimen_folder("looker"), folder)
    names = [str(folder) for folder in folders]
    run = run_here(Store(tmp_path / "home"), DynamicsRun(names[-1], names, n=20, task="digits"))
    assert run.result is not None, run.message
    first, second = run.result["moments"]
    assert (first["step"], second["step"]) == (10, 20)
    assert first["curve"] == second["curve"]
    assert first["curve"][0] > first["curve"][-1]
    assert len(first["scores"]) == 36


def test_a_checkpoint_that_is_not_there_is_told_in_one_sentence(tmp_path: Path) -> None:
    run = run_here(Store(tmp_path), DynamicsRun("looker", ["looker", str(tmp_path / "nothing")], n=20))
    assert run.state == FAILED
    assert "nothing" in run.message
