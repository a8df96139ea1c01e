"""The comparison at equal K as a run: entries are points, and a run that was stopped keeps them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import headscope.pruning.search.method_comparison
from headscope.runs.client import run_here
from headscope.runs.kinds.method_comparison import EqualKRun, best_of
from headscope.runs.run import DONE, FAILED
from headscope.runs.store import Store

QUICK = EqualKRun(
    "looker", keeps=[9], ways=["dsp", "gradient", "random"], seeds=[0], n_steps=2, finetune=1,
    training={"n_judged": 8, "batch": 4}, n=16,
)  # fmt: skip


def test_a_run_that_was_stopped_keeps_its_entries_and_ends_as_if_it_had_not_been(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = run_here(Store(tmp_path / "one"), QUICK)
    assert whole.state == DONE, whole.message
    assert whole.result is not None
    assert [entry["way"] for entry in whole.result["entries"]] == ["dsp", "gradient", "random"]
    assert whole.result["n_heads"] == 36
    done: list[str] = []
    measured = headscope.pruning.search.method_comparison._measured

    def failing(cell: Any, way: str, *rest: Any) -> Any:
        done.append(way)
        if done == ["dsp", "gradient"]:
            raise RuntimeError("power failure")
        return measured(cell, way, *rest)

    monkeypatch.setattr(headscope.pruning.search.method_comparison, "_measured", failing)
    store = Store(tmp_path / "two")
    assert run_here(store, QUICK).state == FAILED
    resumed = run_here(store, QUICK)
    assert (resumed.state, resumed.result) == (DONE, whole.result)
    assert store.points(resumed.id) == whole.result["entries"]
    assert done == ["dsp", "gradient", "gradient", "random"]


def test_the_best_way_is_that_of_the_fewest_heads_whichever_way_the_metric_goes() -> None:
    values = [("dsp", 4, 0.5), ("dsp", 4, 0.7), ("l0", 4, 0.55), ("l0", 9, 0.9)]
    entries = [{"way": way, "keep": keep, "trained": {"metric": "m", "value": value}} for way, keep, value in values]
    assert best_of(entries, True) == "with 4 heads left subset gates is best: m 0.6 on test"
    assert best_of(entries, False) == "with 4 heads left L0 gates is best: m 0.55 on test"


def test_unknown_training_settings_are_one_sentence() -> None:
    with pytest.raises(ValueError, match="the training settings steps; known are rate, batch"):
        EqualKRun("looker", keeps=[3], training={"steps": 5}).contest()
