"""A worker that is killed at random moments costs time and nothing else: the run ends as if nothing had happened."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from headscope.runs.execution.execute import execute
from headscope.runs.execution.model_cache import ModelCache
from headscope.runs.execution.process import Identity
from headscope.runs.kind import Kind
from headscope.runs.kinds import learn
from headscope.runs.kinds.learn import LearnRun
from headscope.runs.kinds.sweep import SweepRun
from headscope.runs.run import DONE, Run
from headscope.runs.store import Store
from tests.runs.killing import KILLED, SURVIVED, forked

SWEEP = SweepRun("looker", step=0.5, n=10, n_scoring=4)
GATES = LearnRun(
    "looker",
    gates="dsp",
    settings={"keep": 9},
    n_steps=4,
    finetune=3,
    n=10,
    training={"n_judged": 10, "batch": 4, "every": 2},
)


@pytest.fixture(scope="module")
def shelf() -> ModelCache:
    """A model in memory, which forked workers share."""
    models = ModelCache()
    models.get("looker")
    return models


def work(folder: Path, kind: Kind, shelf: ModelCache) -> None:
    """What a worker does that finds the run of a dead one."""
    store = Store(folder)
    store.recover()
    run = store.submit(kind.as_run(folder), kind.kept)
    store.resume(run.id)  # where too many workers died
    claimed = store.claim_one(run.id, Identity.own())
    assert claimed is not None
    execute(store, claimed, shelf)


def final(folder: Path, kind: Kind) -> tuple[Run, dict[str, Any]]:
    """All that a run leaves behind, but for the times."""
    store = Store(folder)
    run = store.get(kind.as_run(folder).id)
    assert run.state == DONE, run.message
    files = {path.relative_to(run.folder): path.read_bytes() for path in run.folder.rglob("*") if path.is_file()}
    kept = {"result": run.result, "points": store.points(run.id), "record": run.record, "done": (run.done, run.total)}
    return run, kept | {"files": files}


@pytest.mark.parametrize("n_kills", [10, pytest.param(100, marks=[pytest.mark.long, pytest.mark.timeout(900)])])
@pytest.mark.parametrize("kind", [SWEEP, GATES], ids=["sweep", "gates"])
def test_a_run_killed_at_random_moments_ends_with_the_same_record(
    kind: Kind, n_kills: int, shelf: ModelCache, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "headscope.runs.execution.execute.SECONDS_BETWEEN_WRITES", 0.0
    )  # many more moments at which something is written
    monkeypatch.setattr(learn, "SECONDS_BETWEEN_CHECKPOINTS", 0.0)
    work(tmp_path / "whole", kind, shelf)  # here, so that what is imported is there in every fork
    _, expected = final(tmp_path / "whole", kind)
    outcome, n_events = forked(lambda: work(tmp_path / "counted", kind, shelf))
    assert outcome == SURVIVED
    draw = random.Random(0)
    kills = finished = 0
    while kills < n_kills or not finished:
        folder = tmp_path / f"killed {finished}"
        last = kills >= n_kills
        outcome, _ = forked(lambda: work(folder, kind, shelf), 0 if last else draw.randint(1, n_events // 2))  # noqa: B023
        assert outcome in (KILLED, SURVIVED)
        kills += outcome == KILLED
        if outcome == SURVIVED:
            _, found = final(folder, kind)
            assert found == expected
            finished += 1
