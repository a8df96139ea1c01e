"""What the Prune Lab gives to take home is the model that it shows, for every kind of specimen."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from headscope.models.head_model import HeadModel
from headscope.models.loading.loader import load
from headscope.runs.client import run_here
from headscope.runs.kinds.export import ExportRun
from headscope.runs.kinds.live import LiveQuery
from headscope.runs.run import DONE
from headscope.runs.store import Store
from headscope.tasks.task_catalog import SPECIMEN_TASKS
from headscope.tasks.task_selection import chosen_task

MASKS = {
    "reader": "encoder.0.1 encoder.0.5 encoder.1.1",
    "translator": "encoder.0.1 decoder.0.5 cross.1.1",
    "writer": "decoder.0.1 decoder.0.5 decoder.1.1",
    "all-attention-writer": "decoder.0.1 decoder.1.1",
}
"""The looker is pruned in a browser and loaded in another process: tests/browser/test_prune_lab.py."""


@pytest.mark.timeout(300)
@pytest.mark.parametrize("model", MASKS)
def test_what_is_loaded_as_the_page_says_has_the_number_of_the_page(model: str, tmp_path: Path) -> None:
    store = Store(tmp_path)
    shown, exported = (run_here(store, kind(model, MASKS[model])) for kind in (LiveQuery, ExportRun))
    assert [shown.state, exported.state] == [DONE, DONE], exported.message
    shutil.unpack_archive(exported.folder / exported.found["file"], tmp_path / "unpacked")
    folder = str(tmp_path / "unpacked")
    given: dict[str, Any] = {"folder": folder}
    exec(exported.found["snippet"], given)
    head_model = HeadModel.of(given["model"], load(folder).tokenizer)
    task, _ = chosen_task(head_model, SPECIMEN_TASKS[model])
    estimate = task.estimates(task.outcomes(head_model, "development"))[0]
    assert estimate.value == pytest.approx(shown.found["value"], rel=1e-4)
    assert head_model.n_parameters == exported.found["proof"]["parameters"]
