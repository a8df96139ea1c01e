"""The trainer: the same seed gives the same weights, whether or not the run was stopped on the way."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import functional
from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedModel

from headscope.specimens.recipe import RECIPES, Batch, Recipe, Schedule, recipe_of
from headscope.specimens.train import train
from headscope.specimens.trainer import Training, is_snapshot_step


class Tiny(Recipe):
    """Copies of a random token, with dropout so that random numbers matter."""

    name = "tiny"
    title = "tiny"
    data = "none"
    schedule = Schedule(steps=7, peak=1e-2, warm_up=2)
    architecture = GPT2LMHeadModel

    def processor(self) -> str:
        return "none"

    def config(self, processor: Any) -> GPT2Config:
        del processor
        return GPT2Config(vocab_size=20, n_embd=8, n_layer=1, n_head=2, n_positions=8, bos_token_id=0, eos_token_id=0)

    def training_round(self, processor: Any, seed: int, number: int) -> list[Batch]:
        del processor
        generator = torch.Generator().manual_seed(100 * seed + number)
        return [{"input_ids": torch.randint(1, 20, (4, 1), generator=generator).expand(4, 5)} for _ in range(3)]

    def losses(self, model: PreTrainedModel, batch: Batch) -> tuple[Tensor, Tensor]:
        targets = batch["input_ids"][:, 1:]
        logits = model(input_ids=batch["input_ids"][:, :-1]).logits
        sums = functional.cross_entropy(logits.transpose(1, 2), targets, reduction="none").sum(-1)
        return sums, torch.full_like(sums, 4)


def weights_after(training: Training) -> dict[str, Tensor]:
    for _ in training.steps():
        pass
    return {name: value.clone() for name, value in training.model.state_dict().items()}


def same(first: dict[str, Tensor], second: dict[str, Tensor]) -> bool:
    return all(torch.equal(first[name], second[name]) for name in first)


def test_the_same_seed_gives_the_same_weights_and_another_seed_others() -> None:
    weights = weights_after(Training(Tiny(), seed=3))
    assert same(weights, weights_after(Training(Tiny(), seed=3)))
    assert not same(weights, weights_after(Training(Tiny(), seed=4)))


@pytest.mark.parametrize("stop", [1, 3, 5])
def test_a_run_that_was_stopped_ends_with_bit_identical_weights(stop: int, tmp_path: Path) -> None:
    whole = weights_after(Training(Tiny(), seed=3))
    stopped = Training(Tiny(), seed=3)
    steps = stopped.steps()
    for _ in range(stop):
        next(steps)
    torch.save(stopped.state(), tmp_path / "last.pt")
    torch.manual_seed(99)
    resumed = Training(Tiny(), seed=3)
    resumed.load(torch.load(tmp_path / "last.pt", weights_only=True))
    assert resumed.step == stop
    assert same(whole, weights_after(resumed))


def test_a_run_without_time_stops_with_a_checkpoint_and_the_next_one_ends_it(tmp_path: Path) -> None:
    first = Training(Tiny(), seed=3)
    assert not train(first, tmp_path, minutes=0)
    second = Training(Tiny(), seed=3)
    second.load(torch.load(tmp_path / "last.pt", weights_only=True))
    assert 0 < second.step < 7
    assert train(second, tmp_path)
    assert same(weights_after(Training(Tiny(), seed=3)), second.model.state_dict())


def test_a_checkpoint_of_another_seed_is_refused() -> None:
    with pytest.raises(ValueError, match="a checkpoint of seed 3; this run has seed 4"):
        Training(Tiny(), seed=4).load(Training(Tiny(), seed=3).state())


def test_training_lowers_the_loss() -> None:
    losses = [progress.loss for progress in Training(Tiny(), seed=3, steps=60).steps()]
    assert sum(losses[-5:]) < 0.8 * sum(losses[:5])


def test_the_rate_warms_up_holds_its_peak_and_falls_to_zero() -> None:
    schedule = Schedule(steps=1000, peak=2.0, warm_up=100, hold=0.6)
    assert schedule.rate(0) == pytest.approx(0.02)
    assert schedule.rate(49) == pytest.approx(1.0)
    assert {schedule.rate(step) for step in range(100, 600)} == {2.0}
    assert schedule.rate(800) == pytest.approx(1.0)
    assert 0 < schedule.rate(999) < 0.006


def test_snapshots_double_their_distance() -> None:
    assert [step for step in range(1, 5000) if is_snapshot_step(step)] == [125, 250, 500, 1000, 2000, 4000]


def test_all_five_specimens_are_known_and_an_unknown_one_is_named() -> None:
    recipe_of("looker")
    assert sorted(RECIPES) == ["all-attention-writer", "looker", "reader", "translator", "writer"]
    with pytest.raises(KeyError, match="no specimen 'dancer'; known: all-attention-writer, looker"):
        recipe_of("dancer")
