from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from headscope.models.loading.fingerprint import fingerprint
from headscope.models.loading.loader import load
from headscope.pruning.training import gate_training
from headscope.runs.client import run_here
from headscope.runs.kind import Kind, kind_of
from headscope.runs.kinds import learn
from headscope.runs.kinds.fiak import FiakRun
from headscope.runs.kinds.importance import ImportanceRun
from headscope.runs.kinds.learn import LearnRun
from headscope.runs.learned_scores import newest, order_of, result_of
from headscope.runs.run import DONE, FAILED, LONG, SHORT, Run
from headscope.runs.store import Store

SHORT_RUN: dict[str, Any] = {"n_steps": 6, "finetune": 4, "training": {"n_judged": 20, "batch": 4, "every": 3}}
SUBSET = LearnRun("looker", gates="dsp", settings={"keep": 9}, **SHORT_RUN)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return Store(tmp_path_factory.mktemp("store"))


@pytest.fixture(scope="module")
def run(store: Store) -> Run:
    """A finished run."""
    return run_here(store, SUBSET)


def test_a_run_gives_a_mask_a_report_and_a_model_that_loads(run: Run) -> None:
    assert (run.state, run.lane) == (DONE, LONG)
    found = run.result
    assert found is not None
    assert found["removed"] == 27 == len(found["mask"].split())
    assert len(found["gates"]) == len(found["scores"]) == 36
    kept = {head for head, gate in found["gates"].items() if gate == 1}
    assert kept.isdisjoint(found["mask"].split())
    assert len(kept) == 9
    for split, n in (("development", 200), ("test", 400)):
        report = found["report"][split]
        assert {report[name]["n"] for name in ("before", "mask_alone", "masked", "after")} == {n}
        assert all(report[name]["low"] < report[name]["value"] < report[name]["high"] for name in ("masked", "after"))
        assert report["before"]["value"] > report["mask_alone"]["value"]
        assert report["change"]["difference"] == pytest.approx(report["after"]["value"] - report["before"]["value"])
    smaller = load(run.folder / found["folder"])
    assert smaller.n_parameters == found["parameters"] < found["parameters_dense"]
    assert " ".join(sorted(map(str, smaller.removed))) == " ".join(sorted(found["mask"].split()))
    assert not (run.folder / learn.CHECKPOINT).exists()


def test_the_points_are_the_film_of_the_gates(store: Store, run: Run) -> None:
    points = store.points(run.id)
    phases = [point["phase"] for point in points]
    assert list(dict.fromkeys(phases)) == ["attached", "gates", "removed", "fine-tuning"]
    pictures = [point["gates"] for point in points if point["phase"] == "gates"]
    assert len(pictures) == 6
    assert all(sum(picture) <= 9.01 for picture in pictures)
    assert len({(point["phase"], point["step"]) for point in points}) == len(points)


@pytest.mark.parametrize("killed_at", [4, 8])
def test_a_run_that_was_killed_ends_as_if_it_had_not_been(
    killed_at: int, tmp_path: Path, store: Store, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(learn, "SECONDS_BETWEEN_CHECKPOINTS", 0.0)
    other = Store(tmp_path)
    clip = torch.nn.utils.clip_grad_norm_
    calls = []

    def failing(*given: Any) -> Any:
        calls.append(None)
        if len(calls) == killed_at:
            raise RuntimeError("power failure")
        return clip(*given)

    monkeypatch.setattr(torch.nn.utils, "clip_grad_norm_", failing)
    assert run_here(other, SUBSET).state == FAILED
    resumed = run_here(other, SUBSET)
    assert (resumed.state, resumed.result) == (DONE, run.result)
    assert other.points(resumed.id) == store.points(run.id)
    first, second = (load(one.folder / "model").model.state_dict() for one in (run, resumed))
    assert all(torch.equal(first[name], second[name]) for name in first)
    assert len(calls) < 10 + killed_at  # it did not begin again


def test_the_command_of_a_run_is_the_run(run: Run) -> None:
    command = kind_of(run).command
    assert command.startswith("headscope learn looker --gates dsp ")
    assert "--keep 9" in command
    assert "--steps 6" in command
    assert "--training n_judged=20 batch=4 every=3" in command


def test_learned_scores_are_an_importance_method(store: Store, run: Run) -> None:
    assert newest(store.folder, fingerprint("looker"), "subset", {}) == run.id
    assert newest(store.folder, fingerprint("looker"), "l0", {}) == ""
    scored = run_here(store, ImportanceRun("looker", method="subset"))
    assert (scored.state, scored.lane) == (DONE, SHORT)
    assert scored.result is not None
    assert run.result is not None
    assert scored.result["scores"] == run.result["scores"]
    assert (scored.result["errors"], scored.result["unscored"]) == ({}, [])
    assert (scored.result["split"], scored.result["n"]) == ("training", 24)  # six steps of four fresh examples
    assert scored.spec["options"] == {"run": run.id}


def test_a_method_without_its_run_says_which_it_needs(store: Store, run: Run) -> None:
    alone = run_here(store, ImportanceRun("looker", method="l0"))
    assert alone.state == FAILED
    assert "needs a run that trained L0 gates; there is none for this model on this task yet" in alone.message
    wrong = run_here(store, ImportanceRun("looker", method="l0", options={"run": run.id}))
    assert wrong.state == FAILED
    assert "a finished run of L0 or layer-wise gates is needed" in wrong.message


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"gates": "magic"}, "no scheme of gates 'magic'; known: dsp, dsp-ste, l0, layerwise"),
        ({"gates": "dsp"}, "0 heads to keep of 36; from 1 to 36 are allowed"),
        ({"gates": "dsp", "settings": {"keep": 3, "cool": 900}}, "6 steps for gates that cool in 900"),
        ({"weights": "half"}, "weights 'half'; allowed: trained, frozen"),
        ({"banks": "cross"}, "no bank 'cross'"),
        ({"training": {"steps": 3}}, "the training settings steps; known are rate, batch"),
    ],
)
def test_bad_input_is_one_sentence(fields: dict[str, Any], message: str, tmp_path: Path) -> None:
    run = run_here(Store(tmp_path), LearnRun("looker", **SHORT_RUN | fields))
    assert run.state == FAILED
    assert message in run.message


HEADS = [f"encoder.0.{head}" for head in range(4)]


def ended(store: Store, kind: Kind, result: dict[str, Any]) -> Run:
    """A run whose result is made up."""
    run = store.submit(kind.as_run(store.folder))
    store.end(run.id, DONE, result={"task": "t", "n": 1} | result)
    return store.get(run.id)


def test_heads_without_a_gate_have_no_learned_score_and_are_pruned_last(tmp_path: Path) -> None:
    store = Store(tmp_path)
    done = ended(store, SUBSET, {"scores": {"encoder.0.0": -1.0, "encoder.0.1": 2.5}})
    found = result_of(tmp_path, done.id, "subset", HEADS, {"encoder.0.3"})
    assert found["scores"] == {"encoder.0.0": -1.0, "encoder.0.1": 2.5, "encoder.0.3": 0.0}
    assert found["unscored"] == ["encoder.0.2"]
    order = order_of(tmp_path, done.id, "subset", HEADS, {"encoder.0.3"})
    assert order == {"encoder.0.0": -1.0, "encoder.0.1": 2.5, "encoder.0.2": 2.5, "encoder.0.3": 0.0}


def test_heads_that_a_fiak_run_removed_first_are_the_least_important(tmp_path: Path) -> None:
    kind = FiakRun("looker", mask="encoder.0.1,encoder.0.2")
    done = ended(Store(tmp_path), kind, {"heads": {"encoder.0.0": 0.2, "encoder.0.3": 0.5}})
    expected = {"encoder.0.0": 0.2, "encoder.0.1": 0.0, "encoder.0.2": 0.0, "encoder.0.3": 0.5}
    assert result_of(tmp_path, done.id, "fiak", HEADS, set())["scores"] == expected
    assert order_of(tmp_path, done.id, "fiak", HEADS, set()) == expected


def test_learned_scores_come_from_a_run_on_the_same_task_and_data(tmp_path: Path) -> None:
    store, mark = Store(tmp_path), fingerprint("looker")
    usual = ended(store, SUBSET, {"scores": {"encoder.0.0": 1.0}})
    named = ended(store, replace(SUBSET, task="digits"), {"scores": {"encoder.0.0": 2.0}})
    assert newest(tmp_path, mark, "subset", {"task": "", "data": "", "columns": {}}) == usual.id
    assert newest(tmp_path, mark, "subset", {"task": "digits"}) == named.id
    assert newest(tmp_path, mark, "subset", {"data": "/tmp/own.tsv"}) == ""
    assert newest(tmp_path, mark, "subset", {"columns": {"text": "a"}}) == ""


def test_a_run_of_another_model_is_refused(tmp_path: Path) -> None:
    done = ended(Store(tmp_path), SUBSET, {"scores": {"encoder.7.0": 1.0}})
    with pytest.raises(ValueError, match=r"scores encoder.7.0, which this model has not: "):
        result_of(tmp_path, done.id, "subset", HEADS, set())


def test_the_metric_lost_without_a_head_is_an_importance_method(tmp_path: Path) -> None:
    from headscope.runs.kinds.ablations import AblationsRun

    store = Store(tmp_path)
    tables = run_here(store, AblationsRun("looker", n=20, n_scoring=8, step=0.5))
    assert tables.result is not None, tables.message
    scored = run_here(store, ImportanceRun("looker", method="metric"))
    assert scored.result is not None, scored.message
    differences = {row["head"]: row["difference"] for row in tables.result["alone"]}
    assert scored.result["scores"] == {head: -difference for head, difference in differences.items()}
    assert (scored.result["n"], scored.result["split"]) == (20, "development")


def test_a_sweep_takes_learned_scores(store: Store, run: Run) -> None:
    from headscope.runs.kinds.sweep import SweepRun

    swept = run_here(store, SweepRun("looker", method="subset", step=0.5, n=20, n_scoring=8))
    assert swept.result is not None, swept.message
    assert run.result is not None
    learned = run.result["scores"]
    assert [learned[head] for head in swept.result["order"]] == sorted(learned.values())
    none = run_here(store, SweepRun("looker", method="l0", step=0.5, n=20))
    assert "no finished run of L0 or layer-wise gates for this model on this task" in none.message


def test_a_plan_is_what_the_fields_say() -> None:
    plan = LearnRun("looker", gates="l0", settings={"keep": 3}, n_steps=50, finetune=7, seed=4, banks="encoder").plan()
    assert (plan.training.steps, plan.training.seed, plan.finetune, plan.banks) == (50, 4, 7, "encoder")
    assert plan.weights == gate_training.TRAINED
