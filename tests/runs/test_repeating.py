"""The command that a run names must ask for that very run."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from headscope.cli import main as cli
from headscope.runs.kind import Kind
from headscope.runs.kinds.budget import BudgetRun
from headscope.runs.kinds.dynamics import DynamicsRun
from headscope.runs.kinds.evaluation import EvaluationRun
from headscope.runs.kinds.export import ExportRun
from headscope.runs.kinds.facts import FactsQuery
from headscope.runs.kinds.fiak import FiakRun
from headscope.runs.kinds.finetune import FinetuneRun
from headscope.runs.kinds.importance import ImportanceRun
from headscope.runs.kinds.learn import LearnRun
from headscope.runs.kinds.method_comparison import EqualKRun
from headscope.runs.kinds.roles import RolesRun
from headscope.runs.kinds.speed import SpeedRun
from headscope.runs.kinds.sweep import SweepRun

OWN = {"data": "/tmp/my data.tsv", "columns": {"text": "a b", "label": "c"}}
RUNS: list[Kind] = [
    ImportanceRun("looker"),
    ImportanceRun("reader", method="gradient", options={"estimator": "token"}, n=64, split="development", **OWN),
    ImportanceRun("looker", method="subset", options={"run": "0123456789abcdef"}),
    SweepRun("looker"),
    SweepRun("looker", method="fiak", options={"run": "0123456789abcdef"}),
    SweepRun("translator", strategy="score", settings={"scope": "layer", "at_least": 1}, banks="encoder", step=0.0),
    SweepRun("reader", strategy="random", settings={"seed": 3}, seeds=0, n=50, n_scoring=32),
    FinetuneRun("looker", "encoder.0.1 encoder.2.3", start="rescaled", training={"steps": 0}),
    FinetuneRun("reader", "encoder.0.1", start="plain", training={"steps": 30, "batch": 4}, **OWN),
    SpeedRun("looker", "encoder.0.1 encoder.2.3", [1, 16], [128]),
    BudgetRun("reader", ["accuracy within 1 point", "at most 40 % of attention parameters"], banks="encoder"),
    RolesRun("reader", data="/tmp/my trees.conllu", n=200),
    RolesRun("/tmp/smaller", task="translation", options={"syntactic.margin": 0.15, "end mark.share": 0.6}),
    FiakRun("looker", keys=0.2, mask="encoder.0.1 encoder.2.3", steps_priors=30, steps_tuning=40),
    FiakRun("writer", scores=0.0, keys=0.3, prior="key", shared="layer", by="random", seed=2, n=50, **OWN),
    FiakRun("looker", scores=0.5, keep_step="last"),
    LearnRun("looker", gates="dsp", settings={"keep": 9}, n_steps=6, finetune=4, training={"batch": 4}),
    LearnRun("translator", settings={"penalty": 0.5}, banks="encoder", weights="frozen", seed=1),
    DynamicsRun("looker", ["/tmp/my run/checkpoint-10", "looker"], n=20, task="digits"),
    EqualKRun("looker", keeps=[18, 4], ways=["dsp", "scratch"], seeds=[1], n_steps=6, training={"rate": 0.001}),
]


@pytest.mark.parametrize("kind", RUNS, ids=lambda kind: kind.title)
def test_the_command_of_a_run_asks_for_that_run(kind: Kind, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HEADSCOPE_HOME", str(tmp_path))
    seen: list[Kind] = []

    def note(store: Any, asked: Kind, *rest: Any) -> None:
        del store, rest
        seen.append(asked)
        raise ValueError("asked")

    monkeypatch.setattr("headscope.runs.client.run_here", note)
    words = shlex.split(kind.command)
    assert words[:1] == ["headscope"]
    cli.main(words[1:])
    assert seen == [kind]


def test_another_run_has_another_command() -> None:
    commands = {kind.command for kind in RUNS}
    assert len(commands) == len(RUNS)
    assert replace(RUNS[0], n=7).command != RUNS[0].command  # type: ignore[type-var]


def test_an_evaluation_and_an_export_name_the_mask() -> None:
    assert EvaluationRun("looker", "encoder.0.1 encoder.0.2", n=20).command == (
        "headscope evaluate looker --mask 'encoder.0.1 encoder.0.2' --split development --n 20"
    )
    assert "--heads 'encoder.0.1 encoder.0.2' --format onnx --out smaller" in (
        ExportRun("looker", "encoder.0.1 encoder.0.2", "onnx").command
    )


def test_a_question_has_no_command() -> None:
    assert FactsQuery("looker").command == ""
