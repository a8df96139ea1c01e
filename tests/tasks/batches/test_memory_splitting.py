"""When memory runs out: batches are halved until they fit, with the same results, and the size is remembered."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
import torch

from headscope.analysis.importance.method import balance_of, method_of, portions, score
from headscope.models.head_model import HeadModel
from headscope.models.loading.loader import load
from headscope.pruning.evaluation.evaluator import Evaluator
from headscope.pruning.masks import HeadMask
from headscope.runs.client import run_here
from headscope.runs.kinds.evaluation import EvaluationRun
from headscope.runs.kinds.importance import ImportanceRun
from headscope.runs.run import DONE, FAILED
from headscope.runs.store import Store
from headscope.tasks.batches.batching import Batch
from headscope.tasks.batches.memory_splitting import done_in_parts, joined, rows_of, width
from headscope.tasks.task_catalog import task_for

MESSAGES = (
    "[enforce fail at alloc_cpu.cpp:117] err == 0. DefaultCPUAllocator: can't allocate memory: you tried to allocate 9",
    "CUDA out of memory. Tried to allocate 2.00 GiB",
)


class Cramped:
    """A model on a machine where one row or `room` places fit at a time; counts what failed and what fitted."""

    def __init__(self, head_model: HeadModel, room: int) -> None:
        self.head_model, self.room = head_model, room
        self.failed: list[int] = []
        self.largest = 0

    def __call__(self, module: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        del module
        tensor = next(one for one in (*args, *kwargs.values()) if isinstance(one, torch.Tensor))
        places = tensor.shape[0] * (tensor.shape[1] if tensor.dim() == 2 else 1)
        if tensor.shape[0] > 1 and places > self.room:
            self.failed.append(places)
            if len(self.failed) % 2:
                raise RuntimeError(MESSAGES[0])
            raise torch.OutOfMemoryError(MESSAGES[1])
        self.largest = max(self.largest, places)


@contextmanager
def cramped(head_model: HeadModel, room: int) -> Iterator[Cramped]:
    """The same model, but forgotten are the sizes that fitted it, and memory is small."""
    other = HeadModel(
        copy.deepcopy(head_model.model), head_model.tokenizer, head_model.sites, head_model.missed, head_model.name
    )
    watch = Cramped(other, room)
    handle = other.model.register_forward_pre_hook(watch, with_kwargs=True)
    try:
        yield watch
    finally:
        handle.remove()


@pytest.fixture(scope="module", params=["looker", "reader"])
def roomy(request: pytest.FixtureRequest) -> HeadModel:
    return load(request.param, device="cpu")


def room_for(head_model: HeadModel) -> int:
    """About a fifth of the first batch."""
    batch = next(iter(task_for(head_model).batches(head_model, "development", 20)))
    return max(width(batch), len(batch) * width(batch) // 5)


@pytest.mark.parametrize(("model", "wide"), [("looker", 1), ("reader", 12)])
def test_the_width_of_a_text_is_its_tokens_and_that_of_an_image_is_one(model: str, wide: int) -> None:
    shape = (3, 1, 8, 8) if model == "looker" else (3, 12)
    inputs = {"given": torch.zeros(shape), "labels": torch.zeros(3)}
    assert width(Batch("test", (0, 1, 2), inputs, torch.zeros(3))) == wide


def test_outcomes_are_the_same_and_the_next_batch_starts_with_what_fitted(roomy: HeadModel) -> None:
    task = task_for(roomy)
    expected = task.outcomes(roomy, "development", 20)
    with cramped(roomy, room_for(roomy)) as watch:
        for attempt in range(2):
            found = task.outcomes(watch.head_model, "development", 20)
            assert np.array_equal(found.indices, expected.indices)
            for name, column in expected.columns.items():
                assert found[name] == pytest.approx(column, rel=1e-5, abs=1e-6)
            assert bool(watch.failed) == (attempt == 0), "only the first time is anything tried that does not fit"
            watch.failed.clear()
        assert 0 < watch.largest <= watch.room


def test_an_evaluator_gives_the_same_points_and_losses(roomy: HeadModel) -> None:
    task, heads = task_for(roomy), roomy.grid.heads
    masks = [HeadMask(roomy.grid).prune(*some) for some in ((), heads[:3], heads[5:9], heads[-2:])]
    plain = Evaluator.of(roomy, task, "development", 20)
    points, losses = [plain.point(mask) for mask in masks], Evaluator.of(roomy, task, "development", 20).losses(masks)
    with cramped(roomy, room_for(roomy)) as watch:
        tight = Evaluator.of(watch.head_model, task, "development", 20)
        assert tight.losses(masks) == pytest.approx(losses, rel=1e-5)
        assert watch.failed
        watch.failed.clear()
        again = Evaluator.of(watch.head_model, task, "development", 20)
        for mask, point in zip(masks, points, strict=True):
            found = again.point(mask)
            assert (found.value, found.p, found.n) == pytest.approx((point.value, point.p, point.n))
            assert found.loss == pytest.approx(point.loss, rel=1e-5)
        assert not watch.failed


def test_memory_that_runs_out_in_the_middle_costs_the_recordings_and_nothing_else(roomy: HeadModel) -> None:
    task, heads = task_for(roomy), roomy.grid.heads
    mask, other = HeadMask(roomy.grid), HeadMask(roomy.grid).prune(heads[-1])
    expected = Evaluator.of(roomy, task, "development", 20).point(other)
    with cramped(roomy, 10**9) as watch:
        evaluator = Evaluator.of(watch.head_model, task, "development", 20)
        evaluator.point(mask)
        watch.room = room_for(roomy)
        found = evaluator.point(other)
        assert watch.failed
        assert (found.value, found.loss) == pytest.approx((expected.value, expected.loss), rel=1e-5)


@pytest.mark.parametrize("key", ["gradient", "ablation", "wanda", "lrp"])
def test_scores_are_the_same(key: str, roomy: HeadModel) -> None:
    method, task = method_of(key)(), task_for(roomy)
    expected = score(method, roomy, task, n=4).values
    with cramped(roomy, room_for(roomy) // 4) as watch:
        found = score(method, watch.head_model, task, n=4).values
        assert watch.failed
        assert list(found.values()) == pytest.approx(list(expected.values()), rel=1e-3, abs=1e-6)
        watch.failed.clear()
        score(method, watch.head_model, task, n=4)
        assert not watch.failed


def test_a_balance_is_that_of_the_rows_that_fit() -> None:
    looker = load("looker", device="cpu")
    method, task = method_of("shapley")(samples=2), task_for(looker)
    with cramped(looker, 2) as watch:
        (batch, *_) = task.batches(watch.head_model, "calibration", 4)
        (portion,) = portions(method, watch.head_model, task, [batch])
        watch.failed.clear()
        whole, parts = balance_of(method, watch.head_model, task, batch, portion).values()
        assert not watch.failed
        assert parts == pytest.approx(whole, rel=1e-3)


def test_one_row_that_does_not_fit_is_one_sentence_in_a_run(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> None:
        raise RuntimeError(MESSAGES[0])

    monkeypatch.setattr("headscope.tasks.vision.Digits.observe", fail)
    run = run_here(Store(tmp_path), EvaluationRun("looker", n=5))
    assert run.state == FAILED
    assert run.message.startswith("not enough memory, even for one example at a time; take a smaller model")


def test_a_run_goes_on_in_parts_and_stores_a_point_a_batch(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = run_here(Store(tmp_path / "roomy"), ImportanceRun("looker", n=10))
    looked = type(method_of("gradient")()).of_batch

    def tight(self: Any, head_model: HeadModel, task: Any, batch: Any) -> Any:
        if len(batch) > 3:
            raise RuntimeError(MESSAGES[0])
        return looked(self, head_model, task, batch)

    monkeypatch.setattr(type(method_of("gradient")()), "of_batch", tight)
    store = Store(tmp_path / "tight")
    run = run_here(store, ImportanceRun("looker", n=10))
    assert run.state == DONE, run.message
    assert run.result is not None and expected.result is not None
    assert run.result["scores"] == pytest.approx(expected.result["scores"], rel=1e-4)
    assert len(store.points(run.id)) == len(Store(tmp_path / "roomy").points(run.id)) == 1


def test_parts_are_the_rows_in_their_order(roomy: HeadModel) -> None:
    (batch, *_) = task_for(roomy).batches(roomy, "calibration", 6)
    parts = [rows_of(batch, slice(start, start + 4)) for start in range(0, len(batch), 4)]
    assert sum((part.indices for part in parts), ()) == batch.indices
    for name, values in batch.inputs.items():
        assert torch.equal(torch.cat([part.inputs[name] for part in parts]), values)
    assert rows_of(batch, slice(0, len(batch))) is batch
    assert done_in_parts(roomy, batch, lambda part: part) == [batch]
    assert joined([{"a": np.array([1])}, {"a": np.array([2, 3])}])["a"].tolist() == [1, 2, 3]
