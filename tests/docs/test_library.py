"""docs/library.md, run as it stands."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from headscope.pruning.evaluation.evaluator import Evaluator
from headscope.pruning.export.exporter import read_record
from headscope.pruning.masks import HeadMask
from tests.docs.blocks import blocks

MOST_LINES = 20


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the names of the document mean after all its blocks have run, in a folder of their own."""
    folder = tmp_path_factory.mktemp("notebook")
    names: dict[str, Any] = {"__name__": "__main__"}
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("HEADSCOPE_HOME", str(folder / "runs"))
        for number, code in enumerate(blocks("library.md", "python")):
            exec(compile(code, f"library.md, block {number}", "exec"), names)
    return names | {"folder": folder}


def test_the_first_block_is_the_whole_work_in_twenty_lines() -> None:
    lines = [line for line in blocks("library.md", "python")[0].splitlines() if line.strip()]
    assert len(lines) <= MOST_LINES


def test_the_lines_of_the_readme_write_a_smaller_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    exec(compile(blocks("../README.md", "python")[0], "README.md", "exec"), {})
    assert len(read_record("smaller")["removed"]) == 12


def test_the_smaller_model_is_smaller_and_as_good_as_its_mask(session: dict[str, Any]) -> None:
    model, smaller, mask = session["model"], session["smaller"], session["mask"]
    assert len(mask) == len(model.grid) // 2
    assert smaller.n_parameters < model.n_parameters
    assert session["proof"].equal
    judge = Evaluator.of(smaller, session["task"], "development")
    assert judge.point(HeadMask(smaller.grid)).value == session["pruned"].value


def test_a_head_that_is_gated_is_as_one_that_is_removed(session: dict[str, Any]) -> None:
    task = session["task"]
    values = [task.estimates(session[name])[0].value for name in ("masked", "removed")]
    assert values[0] == values[1] < task.estimates(task.outcomes(session["model"], "development", 100))[0].value


def test_the_curve_begins_with_the_unpruned_model_and_ends_without_heads(session: dict[str, Any]) -> None:
    order = [point for point in session["curve"] if point.series == "order"]
    assert (order[0].removed, order[-1].removed) == (0, len(session["model"].grid))
    assert order[0].value == session["whole"].value


def test_the_run_is_in_the_store_and_the_report_on_disk(session: dict[str, Any]) -> None:
    folder: Path = session["folder"]
    assert session["run"].state == "done"
    assert (folder / "runs" / "headscope.sqlite").is_file()
    assert session["run"].fingerprint in (folder / "report.html").read_text(encoding="utf-8")
