from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import pytest

from headscope.cli import main as cli
from headscope.pruning.evaluation.evaluator import Evaluator
from headscope.runs.client import run_here
from headscope.runs.execution.model_cache import ModelCache
from headscope.runs.kind import Kind, Workspace
from headscope.runs.kinds.ablations import AblationsRun
from headscope.runs.kinds.sweep import SweepRun
from headscope.runs.run import FAILED
from headscope.runs.store import Store

SHELF = ModelCache()
SMALL: dict[str, Any] = {"n": 6, "n_scoring": 4, "step": 0.5}


def points_and_result(folder: Path, points: list[Any], stop: int | None = None) -> tuple[Any, Any]:
    (folder / "run").mkdir(parents=True, exist_ok=True)
    steps = AblationsRun("looker", **SMALL).steps(Workspace(SHELF, folder / "run", list(points), lambda _: None))
    kept = list(points)
    while stop is None or len(kept) < stop:
        try:
            step = next(steps)
        except StopIteration as end:
            return kept, end.value
        assert step.total == 36 + 36 + 6 + 36 + 1 + 6 * 2
        if step.point is not None:
            kept.append(step.point)
            assert step.done == len(kept)
    steps.close()
    return kept, None


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any, Any]:
    """A run that nobody disturbed: where it ran, its points, its result."""
    folder = tmp_path_factory.mktemp("ended")
    return folder, *points_and_result(folder, [])


def test_a_run_that_is_killed_again_and_again_ends_with_the_same_result(ended: Any, tmp_path: Path) -> None:
    _, whole, expected = ended
    assert len(whole) == 127
    kept: list[Any] = []
    for stop in (3, 75, 117):
        kept, _ = points_and_result(tmp_path, kept, stop)
    assert points_and_result(tmp_path, kept) == (whole, expected)


def test_the_result_holds_all_tables(ended: Any) -> None:
    found = ended[2]
    assert len(found["alone"]) == len(found["second"]["alone"]) == 36
    assert [row["head"].rsplit(".", 1)[0] for row in found["layers"]] == [f"encoder.{layer}" for layer in range(6)]
    assert all(row["development"]["table"] == "only" and row["test"]["table"] == "chosen" for row in found["layers"])
    assert [point["removed"] for point in found["banks"]["encoder"]["points"]] == [0, 18, 36]
    assert len(found["banks"]["encoder"]["random"]) == 5
    assert {name: estimate["n"] for name, estimate in found["whole"].items()} == dict.fromkeys(
        ("development", "test", "second"), 6
    )
    assert found["second"]["task"] == "Handwritten digits"
    assert -1 <= found["second"]["spearman"] <= 1


def test_the_curve_of_a_bank_is_that_of_a_sweep_which_measures_nothing_again(
    ended: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, _, found = ended
    monkeypatch.setattr(Evaluator, "point_steps", None)
    swept = run_here(Store(folder), SweepRun("looker", banks="encoder", **SMALL)).result
    assert swept is not None
    assert found["banks"]["encoder"]["points"] == swept["points"]
    assert found["banks"]["encoder"]["random"] == swept["random"]


def test_an_unknown_second_task_fails_with_one_sentence(tmp_path: Path) -> None:
    run = run_here(Store(tmp_path), AblationsRun("looker", second="music", **SMALL))
    assert (run.state, run.message.startswith("no task 'music'; known: ")) == (FAILED, True)


def test_the_command_of_the_run_asks_for_that_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HEADSCOPE_HOME", str(tmp_path))
    seen: list[Kind] = []

    def note(_: Store, asked: Kind, *__: Any) -> None:
        seen.append(asked)
        raise ValueError("asked")

    monkeypatch.setattr("headscope.runs.client.run_here", note)
    for kind in (
        AblationsRun("looker"),
        AblationsRun("writer", second="natural-text", options={"scale": "layer"}, n=20, step=0.0, seeds=7),
    ):
        cli.main(shlex.split(kind.command)[1:])
        assert seen[-1] == kind
