from __future__ import annotations

import csv
import shutil
from pathlib import Path

from headscope.models.loading.known_models import specimen_folder
from headscope.pruning.search.dynamics import read_history
from headscope.runs.store import Store
from tests.cli.conftest import Run


def test_a_specimen_tells_its_own_history_without_a_run(recorded: Run, printed: Run) -> None:
    history = read_history(specimen_folder("looker") / "history.json")
    assert [moment["step"] for moment in recorded("dynamics", "looker")["moments"]] == [one.step for one in history]
    lines = printed("dynamics", "looker").splitlines()
    assert len(lines) == 2 + len(history)
    assert lines[-1].split()[-2:] == [f"{100 * history[-1].prunable(0.85):.0f}", "%"]
    rows = list(csv.DictReader(printed("dynamics", "looker", "--csv").splitlines()))
    assert len(rows) == 36 * len(history)
    assert float(rows[0]["score"]) == next(iter(history[0].scores.values()))
    assert Store().runs() == []


def test_checkpoints_are_judged_in_the_order_given(recorded: Run, tmp_path: Path) -> None:
    checkpoint = tmp_path / "my run" / "checkpoint-10"
    shutil.copytree(specimen_folder("looker"), checkpoint)
    moments = recorded("dynamics", "looker", str(checkpoint), "looker", "--n", "8")["moments"]
    assert [moment["name"] for moment in moments] == ["checkpoint-10", "looker"]
    assert moments[0]["curve"] == moments[1]["curve"]
    assert [run.kind for run in Store().runs()] == ["dynamics"]


def test_a_model_without_a_history_needs_checkpoints(refused: Run, tmp_path: Path) -> None:
    assert "came without a history; name the checkpoints" in refused("dynamics", str(tmp_path))
