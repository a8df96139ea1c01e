from __future__ import annotations

from pathlib import Path

import pytest

from headscope.models.loading.loader import load
from headscope.pruning.evaluation import speed
from headscope.pruning.evaluation.cost import Costs
from headscope.pruning.evaluation.evaluator import Evaluator
from headscope.pruning.masks import HeadMask
from headscope.runs.execution.execute import execute
from headscope.runs.execution.model_cache import ModelCache
from headscope.runs.execution.process import Identity
from headscope.runs.kind import Kind
from headscope.runs.kinds.budget import BudgetRun
from headscope.runs.kinds.speed import SpeedRun
from headscope.runs.run import CANCELLED, DONE, LONG, Run
from headscope.runs.store import Store
from headscope.tasks.task_catalog import task

MASK = "encoder.1.0 encoder.1.1 encoder.3.2"


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(speed, "ROUNDS", 2)
    monkeypatch.setattr(speed, "SHORTEST", 0.0)
    monkeypatch.setattr("headscope.runs.execution.execute.SECONDS_BETWEEN_WRITES", 0.0)


def go(store: Store, kind: Kind, until: int | None = None) -> Run:
    """Runs it, or cancels it as soon as so many points are there."""
    run = store.submit(kind.as_run(store.folder), kind.kept)
    store.resume(run.id)
    claimed = store.claim_one(run.id, Identity.own())
    assert claimed is not None

    def between() -> None:
        if until is not None and len(store.points(run.id)) >= until:
            store.cancel(run.id)

    execute(store, claimed, ModelCache(), between)
    return store.get(run.id)


def test_a_speed_run_tells_every_size_and_its_circumstances(store: Store) -> None:
    run = go(store, SpeedRun("looker", MASK, batches=[1, 4]))
    assert (run.state, run.lane) == (DONE, LONG)
    found = run.result
    assert found is not None
    assert [(one["batch"], one["length"]) for one in found["timings"]] == [(1, None), (4, None)]
    assert found["parameters"]["dense"] - found["parameters"]["smaller"] == 3 * (4 * 72 * 12 + 3 * 12)
    assert found["bytes"]["dense"] > found["bytes"]["smaller"]
    assert found["load"] >= 0 and found["threads"] >= 1
    assert found["sentence"]


def test_a_speed_run_that_was_stopped_measures_only_what_is_missing(store: Store) -> None:
    kind = SpeedRun("looker", MASK, batches=[1, 2, 3])
    assert go(store, kind, until=1).state == CANCELLED
    run_id = kind.as_run(store.folder).id
    before = store.points(run_id)
    assert 1 <= len(before) < 3
    run = go(store, kind)
    assert run.result is not None
    assert run.result["timings"][: len(before)] == before
    assert [one["batch"] for one in run.result["timings"]] == [1, 2, 3]


def test_a_budget_run_ends_with_a_mask_that_keeps_it_and_tells_the_test_split_too(store: Store) -> None:
    kind = BudgetRun("looker", budgets=["at most 50 % of attention parameters"], n_scoring=16, n=40)
    found = go(store, kind).result
    assert found is not None and found["met"]
    head_model = load("looker")
    mask = HeadMask.of(head_model.grid, found["mask"])
    cost, dense = (Costs.of(head_model).under(one) for one in (mask, HeadMask(head_model.grid)))
    assert cost.attention_parameters <= 0.5 * dense.attention_parameters
    assert found["cost"]["smaller"]["attention_parameters"] == cost.attention_parameters
    assert found["test"]["point"]["mask"] == found["mask"]
    digits = task("digits")
    whole = digits.estimates(digits.outcomes(head_model, "test", 40))[0]
    assert found["test"]["unpruned"]["value"] == whole.value


def test_a_budget_run_that_was_stopped_ends_with_the_same_result(store: Store, tmp_path: Path) -> None:
    kind = BudgetRun("looker", budgets=["accuracy within 5 points"], n_scoring=16, n=40)
    at_once = go(Store(tmp_path / "other"), kind)
    for until in (1, 3, 5):
        assert go(store, kind, until).state == CANCELLED
    assert go(store, kind).result == at_once.result
    points = store.points(kind.as_run(store.folder).id)
    assert len({point["mask"] for point in points}) == len(points), "no mask was judged twice"


def test_a_budget_run_takes_what_others_have_measured(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    first = go(store, BudgetRun("looker", budgets=["accuracy within 5 points"], n_scoring=16, n=40))
    monkeypatch.setattr(Evaluator, "point_steps", lambda *_: 1 / 0)
    second = go(store, BudgetRun("looker", budgets=["metric within 5 points"], n_scoring=16, n=40))
    assert second.result is not None and first.result is not None
    assert second.result["mask"] == first.result["mask"]


def test_only_heads_of_the_banks_that_were_named_go(store: Store) -> None:
    kind = BudgetRun("translator", budgets=["at most 90 % of heads"], banks="cross", n_scoring=8, n=4)
    found = go(store, kind).result
    assert found is not None
    assert {address.partition(".")[0] for address in found["mask"].split()} == {"cross"}
    refused = go(store, BudgetRun("translator", budgets=["at most 90 % of heads"], banks="choir", n_scoring=8, n=4))
    assert refused.message == "no bank 'choir'; this model has: encoder, decoder, cross"
