from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
import torch
from torch import Tensor

from headscope.models.head_model import HeadModel
from headscope.pruning.masks import HeadMask
from headscope.pruning.surgery import without_heads
from headscope.pruning.training.fine_tuning import FineTuning, Progress, read_state, save_state, trainable_copy
from headscope.pruning.training.settings import Settings
from headscope.pruning.training.training_batches import mixed
from headscope.tasks.batches.batching import EncodedRow
from headscope.tasks.classification import Classification, LabelledText
from headscope.tasks.task import Splits
from headscope.tasks.translation import TextPair, Translation
from tests.tasks.tiny import TEXTS, tiny

QUICK = Settings(steps=12, rate=3e-3, batch=4, every=4, patience=9, n_judged=8)


def labelled(texts: list[str]) -> list[LabelledText]:
    """The label is told by the first word."""
    return [LabelledText(text, f"LABEL_{int(text.split()[0][1:]) % 2}") for text in texts]


def judge() -> Classification:
    return Classification("own", "Own", Splits.of(labelled(TEXTS[:14]), labelled(TEXTS[14:20]), labelled(TEXTS[20:])))


def smaller() -> HeadModel:
    head_model = tiny("bert")
    return without_heads(head_model, HeadMask.of(head_model.grid, "encoder.0.1 encoder.1.0 encoder.1.2 encoder.2.3"))


def weights(head_model: HeadModel) -> dict[str, Tensor]:
    return {name: tensor.clone() for name, tensor in head_model.model.state_dict().items()}


def same(one: dict[str, Tensor], other: dict[str, Tensor]) -> bool:
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


def test_the_loss_falls_and_the_labels_are_learned() -> None:
    tuning = FineTuning(smaller(), judge(), replace(QUICK, steps=60))
    told = [progress for progress in tuning.steps() if progress.loss is not None]
    losses = [progress.loss for progress in told if progress.loss is not None]
    assert losses[-1] < 0.3 * losses[0]
    learned = judge().outcomes(tuning.head_model, "calibration")
    assert (learned["predicted"] == learned["gold"]).mean() == 1.0


def test_the_loss_that_is_told_is_that_of_the_steps() -> None:
    tuning = FineTuning(smaller(), judge(), replace(QUICK, steps=3, every=2))
    for module in tuning.head_model.model.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
    literal = []
    original = tuning.rounds.at

    def watched(step: int) -> list[EncodedRow]:
        rows = original(step)
        from headscope.tasks.batches.batching import collated

        with torch.no_grad():
            batch = collated(rows, tuning.head_model, "calibration")
            literal.append(float(judge().losses(tuning.head_model, batch).mean()))
        return rows

    tuning.rounds.at = watched  # type: ignore[method-assign]
    told = {progress.step: progress.loss for progress in tuning.steps()}
    assert told == {0: None, 1: None, 2: pytest.approx(sum(literal[:2]) / 2), 3: pytest.approx(literal[2])}


@pytest.mark.parametrize("stop", [0, 1, 5, 8, 11])
def test_a_run_stopped_and_taken_up_again_ends_with_the_same_bits(stop: int, tmp_path: Path) -> None:
    whole = FineTuning(smaller(), judge(), QUICK)
    records = list(whole.steps())
    first = FineTuning(smaller(), judge(), QUICK)
    seen = []
    for progress in first.steps():
        seen.append(progress)
        if progress.step == stop:
            break
    save_state(first.state(), tmp_path / "checkpoint.pt")
    second = FineTuning(smaller(), judge(), QUICK)
    second.load(read_state(tmp_path / "checkpoint.pt"))
    torch.manual_seed(stop + 1)  # what else the process does must not matter
    seen += second.steps()
    assert seen == records
    assert second.history == whole.history
    assert same(weights(second.head_model), weights(whole.head_model))
    assert same(weights(second.best()), weights(whole.best()))
    assert second.best_step == whole.best_step


def test_patience_outlasts_a_stop() -> None:
    settled = replace(QUICK, rate=1e-12, patience=2)  # too slow for anything to get better
    first = FineTuning(smaller(), judge(), settled)
    steps = first.steps()
    while first.step < 5:
        next(steps)
    second = FineTuning(smaller(), judge(), settled)
    second.load(first.state())
    assert [progress.step for progress in second.steps()] == [6, 7, 8]
    assert (second.ended, second.best_step) == (True, 0)


def test_rounds_follow_each_other_and_each_has_every_row_in_an_order_of_its_own() -> None:
    tuning = FineTuning(smaller(), judge(), QUICK)
    rounds = []
    for number in range(3):
        rounds.append([])
        for place in range(4):  # 14 rows, 4 at a time
            tuning.step = 4 * number + place
            rounds[-1] += [row.index for row in tuning.rounds.at(tuning.step)]
    assert all(sorted(one) == list(range(14)) for one in rounds)
    assert rounds[0] != rounds[1] != rounds[2]


def test_the_seed_decides_everything_and_nothing_else_does() -> None:
    before = torch.get_rng_state()
    runs = [FineTuning(smaller(), judge(), replace(QUICK, seed=seed)) for seed in (0, 0, 1)]
    torch.set_rng_state(before)
    for number, run in enumerate(runs):
        torch.rand(number)
        list(run.steps())
    assert same(weights(runs[0].head_model), weights(runs[1].head_model))
    assert not same(weights(runs[0].head_model), weights(runs[2].head_model))


def test_training_takes_no_random_numbers_from_others() -> None:
    tuning = FineTuning(smaller(), judge(), QUICK)
    before = torch.get_rng_state()
    list(tuning.steps())
    assert torch.equal(torch.get_rng_state(), before)


def test_the_model_that_was_given_stays_as_it_is() -> None:
    head_model = smaller()
    before = weights(head_model)
    tuning = FineTuning(head_model, judge(), QUICK)
    list(tuning.steps())
    assert same(weights(head_model), before)
    assert not same(weights(tuning.head_model), before)
    assert all(parameter.grad is None for parameter in head_model.model.parameters())
    assert not tuning.head_model.model.training


def scripted(tuning: FineTuning, values: list[float], monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Tensor]]:
    """Lets the metric on development be these values one after the other; gives the weights at each judgement."""
    seen: list[dict[str, Tensor]] = []
    script = iter(values)

    def outcomes(self, head_model, split, n):  # type: ignore[no-untyped-def]
        assert (split, n) == ("development", tuning.settings.n_judged)
        seen.append(weights(head_model))
        real = judge().__class__.__mro__[1].outcomes(self, head_model, split, n)
        right = round(next(script) * len(real["gold"]))
        predicted = [gold if place < right else 1 - gold for place, gold in enumerate(real["gold"].tolist())]
        return replace(real, columns={"gold": real["gold"], "predicted": torch.tensor(predicted).numpy()})

    monkeypatch.setattr(Classification, "outcomes", outcomes)
    return seen


def test_early_stopping_keeps_the_best_weights_and_ends_when_patience_does(monkeypatch: pytest.MonkeyPatch) -> None:
    tuning = FineTuning(smaller(), judge(), replace(QUICK, steps=100, every=2, patience=3))
    seen = scripted(tuning, [1 / 6, 3 / 6, 5 / 6, 5 / 6, 2 / 6, 4 / 6, 1.0], monkeypatch)
    records = list(tuning.steps())
    judged = [round(6 * progress.value) for progress in records if progress.value is not None]
    assert judged == [1, 3, 5, 5, 2, 4]
    assert tuning.ended
    assert (tuning.step, tuning.best_step, tuning.best_value) == (10, 4, pytest.approx(5 / 6))
    assert same(weights(tuning.best()), seen[2])
    assert not same(seen[2], seen[5])


def test_a_training_that_only_harms_gives_back_the_model_it_began_with(monkeypatch: pytest.MonkeyPatch) -> None:
    tuning = FineTuning(smaller(), judge(), replace(QUICK, patience=2))
    scripted(tuning, [5 / 6, 4 / 6, 3 / 6, 2 / 6], monkeypatch)
    list(tuning.steps())
    assert (tuning.step, tuning.best_step) == (8, 0)
    assert same(weights(tuning.best()), weights(smaller()))


def test_where_the_last_weights_are_kept_a_worse_judgement_neither_ends_the_training_nor_loses_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tuning = FineTuning(smaller(), judge(), replace(QUICK, patience=1, keep_step="last"))
    seen = scripted(tuning, [5 / 6, 4 / 6, 3 / 6, 2 / 6], monkeypatch)
    list(tuning.steps())
    assert tuning.step == tuning.best_step == QUICK.steps
    assert same(weights(tuning.best()), seen[-1])
    assert not same(seen[-1], seen[0])


def test_nothing_but_calibration_is_trained_on_and_test_is_never_seen() -> None:
    asked: list[str] = []

    def make(split: str) -> tuple[LabelledText, ...]:
        asked.append(split)
        return tuple(labelled(TEXTS[:14] if split == "calibration" else TEXTS[14:]))

    task = Classification("own", "Own", Splits(make))
    tuning = FineTuning(smaller(), task, QUICK)
    assert asked == ["calibration"]
    assert tuning.rounds.n_rows == 14
    list(tuning.steps())
    assert set(asked) == {"calibration", "development"}
    assert asked.count("calibration") == 3  # once a round, of which twelve steps have three


def test_every_round_sees_every_row_once_in_batches_of_like_length_in_another_order() -> None:
    rows = [EncodedRow(number, {"input_ids": [0] * (1 + number % 5)}, 0) for number in range(23)]
    rounds = [mixed(rows, QUICK, 1000, number) for number in (0, 1)]
    for batches in rounds:
        assert sorted(row.index for batch in batches for row in batch) == list(range(23))
        assert max(map(len, batches)) == 4
        spans = sorted(
            (min(row.lengths[0] for row in batch), max(row.lengths[0] for row in batch)) for batch in batches
        )
        assert all(one[1] <= other[0] for one, other in pairwise(spans))
    assert len(rounds[0]) == len(rounds[1])
    assert [[row.index for row in batch] for batch in rounds[0]] != [
        [row.index for row in batch] for batch in rounds[1]
    ]
    assert rounds[0] == mixed(rows, QUICK, 1000, 0)
    assert max(len(batch) * batch[-1].lengths[0] for batch in mixed(rows, QUICK, 10, 0)) <= 10


def test_the_rate_warms_up_and_falls_to_the_end() -> None:
    rates = [Settings(steps=100, rate=0.5).rate_at(step) for step in range(100)]
    assert rates[0] == pytest.approx(0.05)
    assert rates.index(max(rates)) == 9
    assert max(rates) == 0.5
    assert all(one < other for one, other in pairwise(rates[:10]))
    assert all(one > other for one, other in pairwise(rates[9:]))
    assert 0 < rates[-1] < 0.01
    assert all(0 < Settings(steps=1, rate=0.5).rate_at(step) <= 0.5 for step in range(1))


def test_long_gradients_are_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    tuning = FineTuning(smaller(), judge(), QUICK)
    norms = []
    step = tuning.optimizer.step

    def watched() -> None:
        norms.append(torch.stack([one.grad.norm() for one in tuning.parameters if one.grad is not None]).norm())
        step()

    monkeypatch.setattr(tuning.optimizer, "step", watched)
    plain = Classification.losses
    monkeypatch.setattr(Classification, "losses", lambda *given: 1e3 * plain(*given))
    tuning.train_step()
    assert norms[0] == pytest.approx(1.0, rel=1e-4)


def test_a_batch_that_does_not_fit_is_learned_in_parts_to_the_same_gradient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headscope.pruning.training.fine_tuning.LONGEST_GRADIENT", 1e9)
    runs, sizes = [], []
    for most in (100, 3):
        tuning = FineTuning(smaller(), judge(), replace(QUICK, batch=7))
        for module in tuning.head_model.model.modules():
            if isinstance(module, torch.nn.Dropout):
                module.p = 0.0
        plain = Classification.losses

        def cramped(self, head_model, batch, plain=plain, most=most):  # type: ignore[no-untyped-def]
            found = plain(self, head_model, batch)
            if len(batch) > most:
                raise torch.OutOfMemoryError("CUDA out of memory")
            sizes.append(len(batch))
            return found

        with monkeypatch.context() as patch:
            patch.setattr(Classification, "losses", cramped)
            tuning.train_step()
        runs.append([one.grad for one in tuning.parameters if one.grad is not None])
    assert sizes == [7, 3, 3, 1]
    for one, other in zip(*runs, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-9, atol=1e-12)


def test_a_runaway_loss_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    tuning = FineTuning(smaller(), judge(), QUICK)
    plain = Classification.losses
    monkeypatch.setattr(Classification, "losses", lambda *given: plain(*given) * math.nan)
    with pytest.raises(ValueError, match=r"the loss is nan after 4 steps; try a lower rate than 0\.003"):
        list(tuning.steps())


def test_fixed_positions_are_not_trained_and_half_precision_is_trained_in_single() -> None:
    head_model = tiny("marian")
    pairs = [TextPair(text, text) for text in TEXTS]
    task = Translation("own", "Own", Splits.of(pairs[:8], pairs[8:12], pairs[12:]))
    tuning = FineTuning(head_model, task, replace(QUICK, steps=2))
    tuning.train_step()
    fixed = "model.encoder.embed_positions.weight"
    assert torch.equal(weights(tuning.head_model)[fixed], weights(head_model)[fixed])
    half = replace(head_model, model=tiny("marian").model.bfloat16())
    assert trainable_copy(half).model.dtype == torch.float32
    assert trainable_copy(head_model).model.dtype == torch.float64


def test_bad_settings_are_one_sentence() -> None:
    with pytest.raises(ValueError, match="fine-tuning with batch 0; at least 1"):
        Settings(batch=0)
    with pytest.raises(ValueError, match=r"a learning rate of -1\.0; allowed"):
        Settings(rate=-1.0)
    with pytest.raises(ValueError, match="keep_step 'first'; allowed: best, last"):
        Settings(keep_step="first")
    frozen = smaller()
    frozen.model.requires_grad_(False)
    with pytest.raises(ValueError, match="no weight that may be trained"):
        FineTuning(frozen, judge(), QUICK)
    tuning = FineTuning(smaller(), judge(), QUICK)
    with pytest.raises(ValueError, match="a checkpoint of"):
        FineTuning(smaller(), judge(), replace(QUICK, seed=9)).load(tuning.state())


def test_a_record_tells_only_where_there_is_something_to_tell() -> None:
    assert not Progress(3, 0.1).tells
    assert Progress(3, 0.1, loss=0.0).tells
    assert Progress(3, 0.1, value=0.0).tells
