from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import pytest

from headscope.runs.client import run_here
from headscope.runs.kind import Kind
from headscope.runs.kinds.ablations import AblationsRun
from headscope.runs.kinds.importance import ImportanceRun
from headscope.runs.kinds.learn import LearnRun
from headscope.runs.kinds.method_comparison import EqualKRun
from headscope.runs.kinds.sweep import SweepRun
from headscope.runs.ray import cluster, moved_run
from headscope.runs.ray.cluster import Places
from headscope.runs.run import DONE, Run
from headscope.runs.store import Store

pytestmark = [pytest.mark.ray, pytest.mark.timeout(300)]

SWEEP = SweepRun("looker", step=0.25, n=20, n_scoring=4)
N_MASKS = 1 + 3 + 5 * 3 + 1
CONTEST = EqualKRun(
    "looker", keeps=[9], ways=["dsp", "gradient", "random"], seeds=[0], n_steps=2, finetune=1,
    training={"n_judged": 8, "batch": 4}, n=16,
)  # fmt: skip


class Watched(Places):
    """Places that write down what they are given; whoever asks leaves all parts to them."""

    all: ClassVar[list[Watched]] = []
    on_found: ClassVar[Callable[[int], None]] = staticmethod(lambda _: None)

    def __init__(self, *given: Any) -> None:
        self.handed: list[str] = []
        self.all.append(self)
        super().__init__(*given)

    def at_work(self, part: str) -> bool:
        with self._changed:
            if part in self._queue and self._trouble is None:
                self._changed.wait(0.2)
                return True
        return super().at_work(part)

    def _hand_out(self, place: Any, part: str) -> None:
        self.handed.append(part)
        super()._hand_out(place, part)
        type(self).on_found(len(self.handed))


@pytest.fixture(autouse=True)
def watched(monkeypatch: pytest.MonkeyPatch) -> list[Watched]:
    monkeypatch.setattr(cluster, "Places", Watched)
    monkeypatch.setattr(Watched, "all", [])
    return Watched.all


def here(kind: Kind, folder: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Run, Any]:
    """The run and its points without the cluster."""
    with monkeypatch.context() as patch:
        patch.delenv("HEADSCOPE_RAY")
        return ended(kind, folder / "here")


def ended(kind: Kind, folder: Path) -> tuple[Run, Any]:
    store = Store(folder)
    run = run_here(store, kind)
    assert (run.state, run.message) == (DONE, "")
    return run, store.points(run.id)


def check_same(
    kind: Kind, n_parts: int, on_cluster: Any, n_machines: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    on_cluster.only(n_machines)
    run, points = ended(kind, tmp_path)
    expected, expected_points = here(kind, tmp_path, monkeypatch)
    assert run.result == expected.result
    assert points == expected_points
    (places,) = Watched.all
    assert len(places.handed) == len(set(places.handed)) == n_parts
    assert not places.lost


def test_a_run_on_two_machines_is_that_of_one(on_cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kind = AblationsRun("looker", step=0.5, n=6, n_scoring=4)
    check_same(kind, 3 * 36 + 1 + 6 + 1, on_cluster, 2, tmp_path, monkeypatch)


def test_a_sweep_that_loses_a_node_does_only_what_it_was_at_again_and_ends_the_same(
    on_cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    on_cluster.only(2)

    def kill(n_handed: int) -> None:
        if n_handed == N_MASKS // 2:
            on_cluster.freeze()
        if n_handed == N_MASKS // 2 + 4:  # so the other place has asked for more, and this one holds a part
            on_cluster.kill()

    monkeypatch.setattr(Watched, "on_found", staticmethod(kill))
    run, points = ended(SWEEP, tmp_path)
    (places,) = Watched.all
    again = [part for part, times in Counter(places.handed).items() if times > 1]
    assert len(on_cluster.working) == 1
    assert 1 <= len(places.lost) <= 2  # a part, and the place that was asked for in its stead
    assert set(again) <= set(places.lost)  # what is lost is handed out again, or done by the run itself
    assert len(places.handed) <= N_MASKS + len(places.lost)
    expected, expected_points = here(SWEEP, tmp_path, monkeypatch)
    assert (run.result, points) == (expected.result, expected_points)


@pytest.mark.parametrize(
    ("kind", "n_parts"),
    [(ImportanceRun("looker", split="test", n=400), 2), (CONTEST, 3)],
    ids=["importance", "contest"],
)
def test_a_run_on_another_machine_is_that_of_this_one(
    kind: Kind, n_parts: int, on_cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    check_same(kind, n_parts, on_cluster, 1, tmp_path, monkeypatch)


def test_a_gate_run_goes_on_elsewhere_when_its_node_is_lost(
    on_cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kind = LearnRun("looker", settings={"keep": 12}, n_steps=12, finetune=4, n=10, training={"every": 3, "batch": 4})
    on_cluster.only(1)
    monkeypatch.setattr(moved_run, "SECONDS_A_PIECE", 0.05)
    told: list[str] = []
    say = Store.say

    def moving(self: Store, run_id: str, message: str) -> None:
        told.append(message)
        say(self, run_id, message)

    advance = Store.advance

    def advanced(self: Store, run_id: str, done: int, total: int, points: Any) -> bool:
        if points and len(on_cluster.working) == 1 and "lost" not in told:
            told.append("lost")
            on_cluster.add()
            on_cluster.kill()
        return advance(self, run_id, done, total, points)

    taken: list[set[str]] = []
    files_of = moved_run._files
    monkeypatch.setattr(moved_run, "_files", lambda folder: taken.append(set(files_of(folder))) or files_of(folder))
    monkeypatch.setattr(Store, "say", moving)
    monkeypatch.setattr(Store, "advance", advanced)
    run, points = ended(kind, tmp_path)
    assert "the node was lost; the run goes on from its last checkpoint" in told
    assert taken == [set(), {"checkpoint.pt"}]
    expected, expected_points = here(kind, tmp_path, monkeypatch)
    assert run.result == expected.result
    assert points == expected_points
    assert files(run) == files(expected)


def files(run: Run) -> dict[str, bytes]:
    return {str(path.relative_to(run.folder)): path.read_bytes() for path in run.folder.rglob("*") if path.is_file()}
