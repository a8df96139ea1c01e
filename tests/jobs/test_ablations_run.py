from __future__ import annotations

from pathlib import Path
from typing import Any

from jobs.client import run_here
from jobs.kind import Bench
from jobs.kinds.ablations import AblationsRun
from jobs.kinds.sweep import SweepRun
from jobs.model_shelf import ModelShelf
from jobs.run import DONE, FAILED
from jobs.store import Store
from pruning.evaluation import Evaluator

SHELF = ModelShelf()
SMALL: dict[str, Any] = {"n": 6, "n_scoring": 4, "step": 0.5}


def points_and_result(folder: Path, points: list[Any], stop: int | None = None) -> tuple[Any, Any]:
    (folder / "run").mkdir(parents=True, exist_ok=True)
    steps = AblationsRun("looker", **SMALL).steps(Bench(SHELF, folder / "run", list(points), lambda _: None))
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


def test_a_run_that_is_killed_again_and_again_ends_with_the_same_result(tmp_path: Path) -> None:
    whole, expected = points_and_result(tmp_path / "whole", [])
    assert len(whole) == 127
    kept: list[Any] = []
    for stop in (3, 75, 117):
        kept, _ = points_and_result(tmp_path / "killed", kept, stop)
    assert points_and_result(tmp_path / "killed", kept) == (whole, expected)


def test_the_result_holds_all_tables(tmp_path: Path) -> None:
    run = run_here(Store(tmp_path), AblationsRun("looker", **SMALL))
    assert run.state == DONE
    found = run.result
    assert found is not None
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


def test_the_curve_of_a_bank_is_that_of_a_sweep_and_shares_its_points(tmp_path: Path, monkeypatch: Any) -> None:
    store = Store(tmp_path)
    swept = run_here(store, SweepRun("looker", banks="encoder", **SMALL)).result
    monkeypatch.setattr(Evaluator, "point", None)
    found = run_here(store, AblationsRun("looker", **SMALL)).result
    assert swept is not None
    assert found is not None
    assert found["banks"]["encoder"]["points"] == swept["points"]
    assert found["banks"]["encoder"]["random"] == swept["random"]


def test_an_unknown_second_task_fails_with_one_sentence(tmp_path: Path) -> None:
    run = run_here(Store(tmp_path), AblationsRun("looker", second="music", **SMALL))
    assert (run.state, run.message.startswith("no task 'music'; known: ")) == (FAILED, True)
