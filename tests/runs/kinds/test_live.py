from __future__ import annotations

from pathlib import Path

import pytest

from headscope.models.gating import gated
from headscope.models.loading.loader import load
from headscope.pruning.export.exporter import load_pruned
from headscope.pruning.masks import HeadMask
from headscope.runs.client import run_here
from headscope.runs.execution.model_cache import ModelCache
from headscope.runs.kind import Workspace
from headscope.runs.kinds.export import ExportRun
from headscope.runs.kinds.live import QUICK, QUICK_WRITTEN, LiveQuery
from headscope.runs.kinds.sweep import SweepRun
from headscope.runs.measurement_cache import MeasurementCache
from headscope.runs.run import FAILED
from headscope.runs.store import Store
from headscope.tasks.task_selection import chosen_task
from tests.tasks.tiny import tiny

MASK = "encoder.0.1 encoder.2.3 encoder.5.0"


@pytest.fixture(scope="module")
def shelf() -> ModelCache:
    return ModelCache()


def workspace(folder: Path, shelf: ModelCache) -> Workspace:
    return Workspace(shelf, folder / "run", [], lambda _: None)


def followed(question: LiveQuery, given: Workspace) -> tuple[list, dict]:
    steps, seen = question.steps(given), []
    while True:
        try:
            seen.append(next(steps))
        except StopIteration as end:
            return seen, end.value


def test_a_quick_estimate_comes_first_and_the_whole_split_equals_a_plain_evaluation(
    tmp_path: Path, shelf: ModelCache
) -> None:
    seen, result = followed(LiveQuery("reader", MASK), workspace(tmp_path, shelf))
    (quick,) = [step.point for step in seen if step.point is not None]
    head_model = load("reader")
    task, _ = chosen_task(head_model)
    with gated(head_model, HeadMask.of(head_model.grid, MASK).as_gates()):
        whole = task.estimates(task.outcomes(head_model, "development"))[0]
        first = task.estimates(task.outcomes(head_model, "development", QUICK))[0]
    assert (quick["n"], quick["value"]) == (QUICK, first.value)
    assert [result[name] for name in ("n", "value", "low", "high")] == [whole.n, whole.value, whole.low, whole.high]
    assert result["removed"] == 3
    assert result["higher_is_better"] is True


def test_of_few_long_texts_a_quarter_is_estimated_first(tmp_path: Path, shelf: ModelCache) -> None:
    writer = tiny("gpt2")
    writer.model.float().save_pretrained(tmp_path / "writer")
    writer.tokenizer.save_pretrained(tmp_path / "writer")
    seen, result = followed(LiveQuery(str(tmp_path / "writer"), "decoder.0.1"), workspace(tmp_path, shelf))
    assert [step.point["n"] for step in seen if step.point is not None] == [6]
    assert result["n"] == 24


def test_what_was_measured_before_is_not_measured_again(tmp_path: Path, shelf: ModelCache) -> None:
    given = workspace(tmp_path, shelf)
    _, first = followed(LiveQuery("looker", MASK), given)
    shelf.beside("looker").clear()
    seen, second = followed(LiveQuery("looker", MASK), given)
    assert second == first
    assert [step.point for step in seen] == [None]


def test_a_live_question_takes_what_a_sweep_has_measured(tmp_path: Path) -> None:
    store = Store(tmp_path)
    sweep = run_here(store, SweepRun("looker", step=0.5, seeds=5, n_scoring=8))
    assert sweep.result is not None, sweep.message
    n = 1 + 6 + 1 + 1  # unpruned, half of the heads in six orders, none left; the scores
    assert _n_measured(tmp_path) == n
    half = next(point for point in store.points(sweep.id) if point["removed"] == 18)
    live = run_here(store, LiveQuery("looker", half["mask"]))
    assert live.result is not None
    assert live.result["loss"] == half["loss"]  # which no question measures
    assert _n_measured(tmp_path) == n
    run_here(store, LiveQuery("looker", MASK))
    assert _n_measured(tmp_path) == n + 1


def _n_measured(folder: Path) -> int:
    import sqlite3

    with sqlite3.connect(MeasurementCache(folder).path) as connection:
        return int(connection.execute("SELECT count(*) FROM measured").fetchone()[0])


def test_a_mask_of_another_model_is_refused_in_one_sentence(tmp_path: Path) -> None:
    run = run_here(Store(tmp_path), LiveQuery("looker", "cross.0.0"))
    assert run.state == FAILED
    assert "no head cross.0.0" in run.message


def test_an_export_run_packs_a_model_that_loads_and_computes_as_proved(tmp_path: Path) -> None:
    import zipfile

    run = run_here(Store(tmp_path), ExportRun("looker", MASK))
    assert run.result is not None, run.message
    assert run.result["proof"]["equal"] is True
    with zipfile.ZipFile(run.folder / run.result["file"]) as packed:
        packed.extractall(tmp_path / "unpacked")
    assert str(HeadMask(load("looker").grid, load_pruned(tmp_path / "unpacked").removed)) == MASK
    assert sorted(path.name for path in run.folder.iterdir()) == ["model.zip"]


def test_an_export_of_everything_is_refused(tmp_path: Path) -> None:
    run = run_here(Store(tmp_path), ExportRun("looker", ""))
    assert run.state == FAILED
    assert "nothing to remove" in run.message


def test_what_is_written_word_by_word_is_estimated_from_fewer_examples(tmp_path: Path, shelf: ModelCache) -> None:
    steps = LiveQuery("translator", "cross.0.1").steps(workspace(tmp_path, shelf))
    first = next(step.point for step in steps if step.point is not None)
    assert (first["n"], first["metric"]) == (QUICK_WRITTEN, "BLEU")
