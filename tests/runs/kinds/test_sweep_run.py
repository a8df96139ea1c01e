from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from headscope.analysis.importance.method import method_of, score
from headscope.analysis.roles import sample_selection, search
from headscope.models.heads import HeadId
from headscope.models.loading.loader import load
from headscope.pruning.evaluation.evaluator import Evaluator
from headscope.pruning.masks import HeadMask
from headscope.pruning.search.strategies.iterative import Iterative
from headscope.pruning.search.strategies.role import ByRole
from headscope.pruning.search.strategies.score import ByScore
from headscope.pruning.surgery import without_heads
from headscope.runs.client import run_here
from headscope.runs.execution.model_cache import ModelCache
from headscope.runs.kind import Workspace
from headscope.runs.kinds.sweep import SweepRun
from headscope.runs.run import CANCELLED, DONE, FAILED
from headscope.runs.store import Store
from headscope.runs.strategy_inputs import N_ROLES, Calibration
from headscope.tasks.batches.masked_losses import MaskedLosses
from headscope.tasks.task_catalog import task

SHELF = ModelCache()
SMALL: dict[str, Any] = {"step": 0.5, "n": 20, "n_scoring": 4}


def points_and_result(kind: SweepRun, folder: Path, points: list[Any], stop: int | None = None) -> tuple[Any, Any]:
    """What a worker keeps of a run that is killed after so many steps, or that ends."""
    (folder / "run").mkdir(parents=True, exist_ok=True)
    kept, steps = list(points), kind.steps(Workspace(SHELF, folder / "run", list(points), lambda _: None))
    number = 0
    while stop is None or number < stop:
        try:
            step = next(steps)
        except StopIteration as end:
            return kept, end.value
        number += 1
        if step.point is not None:
            kept.append(step.point)
    steps.close()
    return kept, None


@pytest.mark.parametrize("strategy", ["score", "iterative", "lazy-greedy", "fisher"])
def test_a_run_that_is_killed_at_any_step_ends_with_the_same_result(strategy: str, tmp_path: Path) -> None:
    kind = SweepRun("looker", strategy=strategy, **SMALL)
    whole, expected = points_and_result(kind, tmp_path / "whole", [])
    assert len(whole) == 3 + 5 * 2
    assert expected["points"] == whole[:3]
    for stops in ([1, 8], [4, 30]):
        kept, folder = [], tmp_path / str(stops)
        for stop in stops:
            kept, _ = points_and_result(kind, folder, kept, stop)
        points, result = points_and_result(kind, folder, kept)
        assert (points, result) == (whole, expected)


def test_the_result_is_what_the_contract_says(tmp_path: Path) -> None:
    store = Store(tmp_path)
    run = run_here(store, SweepRun("looker", **SMALL))
    assert run.state == DONE
    found = run.result
    assert found is not None
    assert {name: found[name] for name in ("task", "metric", "higher_is_better", "split", "n")} == {
        "task": "Handwritten digits",
        "metric": "top-1 accuracy",
        "higher_is_better": True,
        "split": "development",
        "n": 20,
    }
    assert [point["removed"] for point in found["points"]] == [0, 18, 36]
    assert [[point["removed"] for point in one] for one in found["random"]] == [[18, 36]] * 5
    assert set(found["points"][0]) == {
        "removed", "mask", "metric", "value", "low", "high", "n", "loss", "parameters", "flops", "p", "worse", "test",
        "series",
    }  # fmt: skip
    assert found["first_worse"] in [None, *found["points"]]
    assert found["points"][1]["mask"].split() == sorted(found["order"][:18])
    assert len(found["order"]) == 36
    assert run.share == 1
    assert store.points(run.id) == [
        *found["points"],
        *(one for row in zip(*found["random"], strict=True) for one in row),
    ]


def test_two_runs_that_meet_share_their_points(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    measured: list[str] = []
    steps_of = Evaluator.point_steps
    monkeypatch.setattr(Evaluator, "point_steps", lambda self, mask: measured.append(str(mask)) or steps_of(self, mask))
    store = Store(tmp_path)
    run_here(store, SweepRun("looker", **SMALL))
    n = len(measured)
    assert n == 2 + 6, "the unpruned model and the one without heads are the same for all"
    run_here(store, SweepRun("looker", strategy="reverse", **SMALL))
    assert len(measured) == n + 1, "all but the curve is known"
    run_here(store, SweepRun("looker", **SMALL | {"n": 10}))
    assert len(measured) == 2 * n + 1, "other examples are another thing"


def test_scores_are_those_of_the_smaller_model_and_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looker, digits = load("looker"), task("digits")
    calibration = Calibration(looker, digits, 8, tmp_path, "mark", "gradient", {"scale": "layer"})
    mask = HeadMask.of(looker.grid, "encoder.0.0 encoder.3.2")
    expected = score(method_of("gradient")(scale="layer"), without_heads(looker, mask), digits, n=8).values
    assert calibration.scores(mask) == expected
    assert calibration.scores(HeadMask(looker.grid)) != expected
    monkeypatch.setattr("headscope.analysis.importance.method.portions", None)
    assert Calibration(looker, digits, 8, tmp_path, "mark", "gradient", {"scale": "layer"}).scores(mask) == expected


def test_a_cancel_during_a_point_ends_the_run_before_the_point_is_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headscope.runs.execution.execute.SECONDS_BETWEEN_WRITES", 0.0)
    monkeypatch.setattr("headscope.tasks.vision.image_budget", lambda _: 3)
    store, kind = Store(tmp_path), SweepRun("looker", **SMALL)
    run_id, seen, seen_of = kind.as_run(store.folder).id, [], Evaluator._seen

    def cancelling(self: Evaluator, number: int, mask: HeadMask) -> Any:
        seen.append(number)
        if number == 1:
            store.cancel(run_id)
        return seen_of(self, number, mask)

    monkeypatch.setattr(Evaluator, "_seen", cancelling)
    assert run_here(store, kind).state == CANCELLED
    assert seen == [0, 1], "of seven batches"
    assert store.points(run_id) == []


def test_a_cancel_ends_a_greedy_search_between_two_passes_of_one_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headscope.runs.execution.preemption.SECONDS_BETWEEN_POLLS", 0.0)
    monkeypatch.setattr("headscope.tasks.vision.image_budget", lambda _: 4)  # one mask a pass
    store, kind = Store(tmp_path), SweepRun("looker", strategy="greedy", **SMALL)
    run_id, passes, resumed_of = kind.as_run(store.folder).id, [], MaskedLosses._resumed

    def cancelling(self: MaskedLosses, *given: Any) -> Any:
        passes.append(given)
        if len(passes) == 3:
            store.cancel(run_id)
        return resumed_of(self, *given)

    monkeypatch.setattr(MaskedLosses, "_resumed", cancelling)
    assert run_here(store, kind).state == CANCELLED
    assert len(passes) == 3, "of sixteen"
    monkeypatch.undo()
    again = run_here(store, kind)
    assert again.result == run_here(Store(tmp_path / "other"), kind).result, "as if it had never been cancelled"


def test_a_search_can_be_left_after_every_batch_that_heads_are_scored_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headscope.tasks.vision.image_budget", lambda _: 3)
    looker = load("looker")
    subject = Calibration(looker, task("digits"), 8, tmp_path, "mark").subject(Iterative())
    found = list(Iterative().search(subject, [0, 2, 4]))
    assert [None if mask is None else len(mask) for mask in found] == [None] * 3 + [0, 2] + [None] * 3 + [4]


def test_losses_are_those_of_calibration_and_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looker, digits = load("looker"), task("digits")
    masks = [HeadMask(looker.grid).prune(head) for head in looker.grid.heads[:5]]
    expected = [Evaluator.of(looker, digits, "calibration", 8).loss(mask) for mask in masks]
    calibration = Calibration(looker, digits, 8, tmp_path, "mark")
    assert calibration.losses(masks[:2]) == pytest.approx(expected[:2])
    asked: list[int] = []
    losses_of = Evaluator.losses
    monkeypatch.setattr(Evaluator, "losses", lambda self, some: asked.append(len(some)) or losses_of(self, some))
    again = Calibration(looker, digits, 8, tmp_path, "mark")
    assert again.losses(masks) == pytest.approx(expected)
    assert asked == [3]


def test_roles_and_banks_reach_the_strategy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looker, digits = load("looker"), task("digits")
    calibration = Calibration(looker, digits, 8, tmp_path, "mark")
    monkeypatch.setattr(Calibration, "roles", lambda _: {HeadId("encoder", 4, 4): ["broad"]})
    assert calibration.subject(ByScore()).roles == {}
    assert ByRole(first="broad").order(calibration.subject(ByRole()))[0] == HeadId("encoder", 4, 4)
    with pytest.raises(KeyError, match="no bank 'cross'; this model has: encoder"):
        calibration.subject(ByScore(), "cross")


def test_a_head_has_the_roles_that_its_findings_confirm_on_calibration_passages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looker = load("looker")
    first, second = HeadId("encoder", 0, 0), HeadId("encoder", 4, 4)
    confirmed, refuted = SimpleNamespace(verdict=True), SimpleNamespace(verdict=False)
    findings = {"broad": {first: confirmed, second: refuted}, "positional": {first: confirmed, second: confirmed}}
    asked: list[object] = []
    monkeypatch.setattr(sample_selection, "chosen_sample", lambda *given: (asked.append(given), ("sample", None))[1])
    monkeypatch.setattr(search, "roles_of", lambda *given: (asked.append(given), findings)[1])
    roles = Calibration(looker, task("digits"), 8, tmp_path, "mark").roles()
    assert roles == {first: ["broad", "positional"], second: ["positional"]}
    assert asked == [(looker, N_ROLES, "calibration"), (looker, "sample")]


def test_gradients_are_those_of_every_example(tmp_path: Path) -> None:
    looker, digits = load("looker"), task("digits")
    gradients = Calibration(looker, digits, 8, tmp_path, "mark").gradients()
    squares = score(method_of("fisher")(), looker, digits, n=8).values
    assert gradients.shape == (8, 36)
    assert (gradients**2).mean(axis=0).tolist() == pytest.approx(list(squares.values()), rel=1e-5)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"strategy": "best"}, "no strategy 'best'; known: fisher, "),
        ({"seeds": 2}, "2 random orders; at least 5 are needed"),
        ({"banks": "cross"}, "no bank 'cross'; this model has: encoder"),
        ({"settings": {"at_least": 6}}, "none of the 36 heads can go under these settings"),
    ],
)
def test_bad_input_fails_with_one_sentence(settings: dict[str, Any], message: str, tmp_path: Path) -> None:
    run = run_here(Store(tmp_path), SweepRun("looker", **SMALL | settings))
    assert run.state == FAILED
    assert message in run.message
