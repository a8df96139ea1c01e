from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from headscope.models.gating import gated
from headscope.models.head_model import HeadModel
from headscope.models.loading.known_models import SPECIMENS_FOLDER
from headscope.models.loading.loader import load
from headscope.pruning.masks import HeadMask
from headscope.pruning.search.dynamics import Judge, Moment, Scores, dynamics, read_history, step_of
from headscope.tasks.task_catalog import task

SPECIMENS = ["translator", "reader", "writer", "all-attention-writer", "looker"]
N = 20


def by_place(head_model: HeadModel) -> Scores:
    return {head: float(place) for place, head in enumerate(head_model.grid)}


def moment(curve: list[float], higher_is_better: bool = True) -> Moment:
    return Moment(
        "one", 1, "metric", higher_is_better, {}, tuple(0.1 * place for place in range(len(curve))), tuple(curve)
    )


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Two checkpoints: the looker, and one whose last layer was spoiled."""
    home = tmp_path_factory.mktemp("training")
    looker = load("looker")
    for name in ("checkpoint-500", "checkpoint-1000"):
        looker.model.save_pretrained(home / name)
        looker.tokenizer.save_pretrained(home / name)
        looker.model.get_submodule(looker.sites[0].output).get_parameter("weight").data.mul_(-3)
    return [home / "checkpoint-500", home / "checkpoint-1000"]


def test_a_moment_has_the_metric_without_the_heads_of_the_lowest_scores(folders: list[Path]) -> None:
    digits = task("digits")
    judge = Judge(digits, by_place, N, (0.0, 0.5))
    found = [one for one in dynamics(folders, judge) if one is not None]
    assert [(one.name, one.step) for one in found] == [("checkpoint-500", 500), ("checkpoint-1000", 1000)]
    for folder, one in zip(folders, found, strict=True):
        head_model = load(folder)
        half = HeadMask(head_model.grid, frozenset(head_model.grid.heads[:18]))
        for value, mask in zip(one.curve, (HeadMask(head_model.grid), half), strict=True):
            with gated(head_model, mask.as_gates()):
                outcomes = digits.outcomes(head_model, "development", N)
            assert value == digits.metrics[0].estimate(outcomes).value
    assert found[0].curve != found[1].curve
    assert [one for one in dynamics(folders, judge, have=1) if one is not None] == found[1:]
    assert Moment.from_json(json.loads(json.dumps(found[0].to_json()))) == found[0]


@pytest.mark.parametrize("name", SPECIMENS)
def test_the_history_of_a_specimen_is_read(name: str) -> None:
    found = read_history(SPECIMENS_FOLDER / name / "history.json")
    assert len(found) >= 4
    steps = [one.step or 0 for one in found]
    assert steps == sorted(steps)
    assert all(len(one.scores) == len(found[0].scores) for one in found)
    last = found[-1]
    assert last.higher_is_better == (last.curve[0] > last.curve[-1])
    assert 0 < last.prunable() < 0.9


@pytest.mark.parametrize(
    ("curve", "higher_is_better", "share"),
    [
        ([1.0, 0.95, 0.85, 0.2], True, 0.15),
        ([1.0, 0.5, 0.99, 0.2], True, 0.02),
        ([1.0, 1.0, 1.0], True, 0.2),
        ([9.0, 9.5, 10.5, 90.0], False, 0.15),
        ([1.0, 0.9], True, 0.1),
    ],
)
def test_prunable_is_the_share_up_to_which_nine_tenths_of_the_metric_are_left(
    curve: list[float], higher_is_better: bool, share: float
) -> None:
    assert moment(curve, higher_is_better).prunable(0.9) == pytest.approx(share)


def test_steps_are_read_from_names() -> None:
    assert [step_of(name) for name in ("checkpoint-500", "step 12", "best")] == [500, 12, None]


def test_other_files_and_other_shapes_are_refused_in_one_sentence(tmp_path: Path, folders: list[Path]) -> None:
    (tmp_path / "history.json").write_text("[]")
    with pytest.raises(ValueError, match="is no history of a training"):
        read_history(tmp_path / "history.json")
    with pytest.raises(ValueError, match="a share above 0 and up to 1 is needed"):
        moment([1.0, 1.0]).prunable(0)
    reader = SPECIMENS_FOLDER / "reader"
    with pytest.raises(ValueError, match=r"reader has encoder .*; the checkpoint before has encoder 6 x 6"):
        list(dynamics([folders[0], reader], Judge(task("digits"), by_place, 4, (0.0,))))


def test_a_page_reads_histories_without_torch() -> None:
    program = "import sys, headscope.pruning.search.dynamics; print('torch' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "False"
