from __future__ import annotations

from collections.abc import Generator
from pathlib import Path

import pytest
import torch
from torch import nn

from headscope.models.example_inputs import example_inputs, main_output
from headscope.models.gating import gated
from headscope.models.head_model import HeadModel
from headscope.models.inputs import lengths_for, sized_inputs
from headscope.pruning.evaluation import speed
from headscope.pruning.evaluation.peak_memory import peak_bytes
from headscope.pruning.evaluation.speed import ROUNDS, Race, Spread, Timing, file_bytes, verdict
from headscope.pruning.export.exporter import export
from headscope.pruning.masks import HeadMask
from tests.families import family, masks
from tests.pruning.evaluation.test_cost import counted


def finished(steps: Generator[int, None, Timing]) -> tuple[list[int], Timing]:
    turns = []
    while True:
        try:
            turns.append(next(steps))
        except StopIteration as end:
            return turns, end.value


def timing(low: float, median: float, high: float, predicted: float = 1.3, batch: int = 16) -> Timing:
    each = Spread(1.0, 1.0, 1.0)
    return Timing(batch, 32, each, each, Spread(median, low, high), predicted, 10, 5, 0.0)


class Clock:
    """A clock that only passes of models move: those of the dense model by a second or more, the others by half."""

    def __init__(self, dense: HeadModel) -> None:
        self.dense, self.now, self.order = dense, 0.0, ""

    def passing(self, head_model: HeadModel, inputs: object) -> object:
        del inputs

        def once() -> None:
            is_dense = head_model is self.dense
            self.order += "d" if is_dense else "s"
            self.now += (1.0 if is_dense else 0.5) * (1 + (len(self.order) - 1) // 2)  # the longer, the slower

        return once


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    found = Clock(family("bert"))
    monkeypatch.setattr(speed, "_pass", found.passing)
    monkeypatch.setattr(speed.time, "perf_counter", lambda: found.now)
    return found


def test_a_spread_is_the_median_and_the_quartiles() -> None:
    assert Spread.of([5.0, 1.0, 2.0, 3.0, 4.0]) == Spread(3.0, 2.0, 4.0)


def test_the_models_take_turns_and_their_times_are_compared_turn_by_turn(clock: Clock) -> None:
    race = Race.of(clock.dense, masks(clock.dense.grid)["random"], [2], [8])
    turns, found = finished(race.timing(2, 8))
    assert turns == list(range(ROUNDS))
    warm_up, measured = clock.order[:4], clock.order[4 : 4 + 2 * ROUNDS]
    assert warm_up == "dsds"
    assert measured == ("sdds" * ROUNDS)[: 2 * ROUNDS]
    assert found.dense.high > 1.5 * found.dense.low, "passes get slower and slower here"
    assert found.speedup == Spread(2.0, 2.0, 2.0)
    assert found.to_json()["throughput"]["dense"] == pytest.approx(2 / found.dense.median)


@pytest.mark.parametrize("name", ["bert", "marian", "llama", "vit"])
def test_what_is_predicted_is_the_ratio_of_the_operations_of_both_models(name: str) -> None:
    head_model = family(name)
    mask = masks(head_model.grid)["uneven"]
    race = Race.of(head_model, mask, [1], [9])
    ((batch, length),) = race.sizes
    found = finished(race.timing(batch, length))[1]
    assert found.predicted == counted(head_model, 9) / counted(race.smaller, 9)
    assert found.predicted > 1
    assert found.memory_dense - found.memory_smaller >= 4 * (head_model.n_parameters - race.smaller.n_parameters)


def test_gates_still_work_after_a_race() -> None:
    head_model = family("bert")
    mask, inputs = masks(head_model.grid)["random"], example_inputs(head_model)
    with gated(head_model, mask.as_gates()):
        before = main_output(head_model, inputs)
    finished(Race.of(head_model, mask, [1], [4]).timing(1, 4))
    with gated(head_model, mask.as_gates()):
        assert torch.equal(main_output(head_model, inputs), before)


def test_sizes_are_every_batch_with_every_length_that_the_model_takes() -> None:
    gpt2 = family("gpt2")
    sizes = Race.of(gpt2, HeadMask(gpt2.grid), [1, 4], [8, 64, 500]).sizes
    assert sizes == ((1, 8), (4, 8), (1, 64), (4, 64))
    assert lengths_for(family("vit").model, [8, 16]) == (None,)
    assert [len(value) for value in sized_inputs(family("vit").model, 3, None).values()] == [3]
    assert sized_inputs(family("whisper").model, 2, 9)["decoder_input_ids"].shape == (2, 9)
    with pytest.raises(ValueError, match="batch 0 and length 8; both must be at least 1"):
        Race.of(gpt2, HeadMask(gpt2.grid), [0], [8])


def test_peak_memory_counts_weights_once_and_forgets_what_is_freed() -> None:
    layer = nn.Linear(100, 50, bias=False)
    x = torch.ones(1, 100)

    def work() -> None:
        for _ in range(3):
            y = layer(x)  # 200 bytes, freed in the next round after the new one was made
            z = torch.cat([y, y]).view(-1)  # 400 bytes and a view of them
            del z

    with torch.inference_mode():
        assert peak_bytes(layer, work) == 4 * 100 * 50 + 200 + max(400, 200)
        assert peak_bytes(layer, lambda: None) == 4 * 100 * 50


def test_the_file_is_as_large_as_what_an_export_writes(tmp_path: Path) -> None:
    head_model = family("bert")
    mask = masks(head_model.grid)["random"]
    proof = export(head_model, mask, tmp_path / "smaller")
    assert file_bytes(Race.of(head_model, mask).smaller) == proof.bytes < file_bytes(head_model)


def test_a_timing_comes_back_from_plain_values() -> None:
    found = timing(1.1, 1.2, 1.3)
    assert Timing.from_json(found.to_json()) == found


@pytest.mark.parametrize(
    ("timings", "sentence"),
    [
        ([timing(1.1, 1.2, 1.3)], "The smaller model is 1.20 times as fast at every size measured."),
        (
            [timing(1.1, 1.2, 1.3), timing(0.97, 0.99, 1.0, batch=1)],
            "The smaller model is 1.20 times as fast at batch 16 and length 32. Fewer heads do not help at batch 1 and "
            "length 32: 0.99 times as fast, where the operations would allow 1.30, so at this size the time goes "
            "elsewhere.",
        ),
        (
            [timing(0.98, 1.0, 1.02, predicted=1.02)],
            "Fewer heads do not help: 1.00 times as fast, since these heads are only 2 % of the operations.",
        ),
        ([timing(0.7, 1.1, 1.6)], "The turns differ too much to tell at batch 16 and length 32."),
    ],
)
def test_a_sentence_says_whether_fewer_heads_help(timings: list[Timing], sentence: str) -> None:
    assert verdict(timings) == sentence
