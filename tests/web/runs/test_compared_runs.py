"""Curves and trained models side by side."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from headscope.runs.kinds.fiak import FiakRun
from headscope.runs.kinds.finetune import FinetuneRun
from headscope.runs.kinds.learn import LearnRun
from headscope.runs.kinds.sweep import SweepRun
from headscope.runs.run import DONE, Run
from headscope.runs.store import Store
from headscope.tasks.classification import ACCURACY, MACRO_F1
from headscope.tasks.fidelity import AGREEMENT, KL_DIVERGENCE
from headscope.tasks.language_modelling import BITS_PER_TOKEN, PERPLEXITY
from headscope.tasks.translation import BLEU, CHRF
from headscope.web.charts.curves import LATENCY, PARAMETERS, Curve, pareto_front, pruning_chart
from headscope.web.charts.curves import Chart as Drawing
from headscope.web.charts.metric_text import higher_is_better
from headscope.web.report.report import Reported, report_html
from headscope.web.runs.compared_runs import compared, timed, timing_of


def estimate(value: float, metric: str = "accuracy", n: int = 100) -> dict[str, Any]:
    return {"metric": metric, "value": value, "low": value - 0.01, "high": value + 0.01, "n": n}


def point(removed: int, value: float, metric: str = "accuracy") -> dict[str, Any]:
    mask = " ".join(f"encoder.0.{head}" for head in range(removed))
    return estimate(value, metric) | {
        "removed": removed, "mask": mask, "loss": 1.0, "parameters": 1000 - removed, "flops": 2000 - removed, "p": 0.5,
        "worse": False, "series": "order",
    }  # fmt: skip


def change(difference: float, p: float) -> dict[str, Any]:
    return {"difference": difference, "p_value": p, "low": 0.0, "high": 0.0, "n": 100, "test": "McNemar"}


def learned(keep: int, value: float, n: int = 100) -> tuple[LearnRun, dict[str, Any]]:
    report = {"before": estimate(0.9, n=n), "after": estimate(value, n=n), "change": change(value - 0.9, 0.001)}
    result = {
        "mask": " ".join(f"encoder.0.{head}" for head in range(12 - keep)), "parameters": 500 + keep,
        "parameters_dense": 1000, "report": {"development": report, "test": report}, "higher_is_better": True,
        "removed": 12 - keep, "metric": "accuracy", "gates": {}, "scores": {},
    }  # fmt: skip
    return LearnRun("looker", gates="dsp", settings={"keep": keep}), result


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path)


def stored(store: Store, kind: Any, result: dict[str, Any] | None, points: list[dict[str, Any]] | None = None) -> Run:
    run = store.submit(kind.as_run(store.folder))
    store.advance(run.id, 1, 2, points or [])
    if result is not None:
        store.end(run.id, DONE, result=result)
    return store.get(run.id)


def swept(store: Store, **more: Any) -> Run:
    return stored(
        store, SweepRun("looker", **more), {"random": [], "order": [], "points": []}, [point(0, 0.9), point(4, 0.8)]
    )


def test_learned_models_are_joined_in_a_solid_line_beside_the_dashed_curve(store: Store) -> None:
    runs = [stored(store, *learned(6, 0.7)), swept(store), stored(store, *learned(8, 0.85))]
    together = compared(store, runs)
    assert (together.split, together.left_out) == ("development", ())
    curve, trained = together.curves
    assert (curve.trained, trained.trained) == (False, True)
    assert [(one["removed"], one["value"], one["parameters"]) for one in trained.points] == [
        (4, 0.85, 508),
        (6, 0.7, 506),
    ]
    assert [one["worse"] for one in trained.points] == [True, True]
    assert trained.name == "Learned pruning of looker: dsp trained"
    front = pareto_front(together.points, PARAMETERS, together.higher_is_better)
    assert [one["parameters"] for one in front] == [506, 508, 1000]
    lines = {
        trace.name: trace.line.dash for trace in pruning_chart(Drawing(together.curves), "light").data if trace.name
    }
    assert lines == {"Sweep of looker: gradient": "dash", trained.name: "solid"}


def test_one_trained_model_is_a_mark_with_its_interval(store: Store) -> None:
    together = compared(store, [stored(store, *learned(6, 0.7))])
    assert together.full is not None
    assert together.full["value"] == 0.9
    (mark,) = [trace for trace in pruning_chart(Drawing(together.curves), "light").data if trace.name]
    assert list(mark.error_y.array) == pytest.approx([1.0])
    assert together.curves[0].name == "Learned pruning of looker: dsp, 6 heads stay"


def test_a_training_on_other_examples_or_another_split_is_named_and_left_out(store: Store) -> None:
    tuned = {
        "report": {"split": "test", "unpruned": estimate(0.9), "tuned": estimate(0.8), "loss": change(-0.1, 0.5)},
        "parameters": 900, "parameters_dense": 1000,
    }  # fmt: skip
    fewer = stored(store, *learned(6, 0.7, n=50))
    other = stored(store, FinetuneRun("looker", "encoder.0.1"), tuned)
    unfinished = stored(store, LearnRun("looker", gates="l0"), None)
    together = compared(store, [swept(store), fewer, other, unfinished])
    assert len(together.curves) == 1
    assert [sentence.rpartition(": ")[2] for sentence in together.left_out] == [
        "another model, metric, split or sample", "it reports nothing on development that compares", "it is not done",
    ]  # fmt: skip
    on_test = compared(store, [swept(store, split="test"), other])
    assert [one["removed"] for one in on_test.curves[1].points] == [1]


def test_fiak_stands_on_the_chart_but_not_on_a_front_whose_axis_it_does_not_know(store: Store) -> None:
    measured = {stage: {"development": estimate(value)} for stage, value in (("dense", 0.9), ("tuned", 0.95))}
    run = stored(
        store, FiakRun("looker"), {"measured": measured, "mask": "", "change": {"development": change(0.05, 0.2)}}
    )
    together = compared(store, [swept(store), run])
    assert [one["value"] for one in together.curves[1].points] == [0.95]
    assert 0.95 not in [one["value"] for one in pareto_front(together.points, PARAMETERS, higher_is_better=True)]
    assert [len(curve.points) for curve in timed(store, "looker", together.curves)] == [0, 0]


def test_the_front_of_perplexity_goes_down_although_the_first_sweep_is_not_done(store: Store) -> None:
    points = [point(0, 10.0, "perplexity"), point(4, 12.0, "perplexity"), point(8, 50.0, "perplexity")]
    together = compared(store, [stored(store, SweepRun("writer"), None, points)])
    assert not together.higher_is_better
    front = pareto_front(together.points, PARAMETERS, together.higher_is_better)
    assert [one["value"] for one in front] == [50.0, 12.0, 10.0]


def test_which_way_is_up_is_known_by_the_name_of_every_metric() -> None:
    metrics = (ACCURACY, MACRO_F1, AGREEMENT, KL_DIVERGENCE, BITS_PER_TOKEN, PERPLEXITY, BLEU, CHRF)
    assert [higher_is_better(one.name) for one in metrics] == [one.higher_is_better for one in metrics]


def test_the_unpruned_model_is_on_the_front_of_measured_time(store: Store) -> None:
    curve = Curve("Gradient", [point(0, 0.9), point(4, 0.8), point(8, 0.7)])
    for removed, smaller, dense in ((4, 0.02, 0.03), (8, 0.01, 0.05)):
        timings = [{"smaller": {"median": smaller}, "dense": {"median": dense}}]
        stored(store, timing_of("looker", point(removed, 0.5)["mask"]), {"timings": timings})
    (found,) = timed(store, "looker", [curve])
    assert [one["seconds"] for one in found.points] == [pytest.approx(0.04), 0.02, 0.01]
    assert len(pareto_front(found.points, LATENCY, higher_is_better=True)) == 3


def test_the_report_draws_trained_models_and_titles_say_what_was_found(store: Store) -> None:
    runs = [swept(store), stored(store, *learned(8, 0.85))]
    report = report_html([Reported.of(store, run) for run in runs], compared(store, runs))
    assert "4 heads can go before anything is significantly worse (Sweep of looker: gradient)" in report
    assert "2 models are worth keeping: no other is both better and smaller" in report
    assert "looker on development, 100 examples" in report
    assert "What pruning costs" not in report
