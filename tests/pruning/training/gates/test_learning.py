from __future__ import annotations

import copy
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from headscope.models.gating import gated
from headscope.models.head_model import HeadModel
from headscope.models.heads import HeadId
from headscope.pruning.masks import HeadMask
from headscope.pruning.surgery import without_heads
from headscope.pruning.training import mask_learning as learning_module
from headscope.pruning.training.fine_tuning import FineTuning, read_state, save_state
from headscope.pruning.training.gate_scheme import scheme_with
from headscope.pruning.training.gate_training import GateTraining, Plan, trained_weights
from headscope.pruning.training.mask_learning import FINETUNING, GATES, Learning, Record
from headscope.pruning.training.settings import Settings
from headscope.tasks.language_modelling import LanguageModelling
from headscope.tasks.task import Splits
from headscope.tasks.translation import TextPair, Translation
from tests.tasks.tiny import TEXTS, tiny

STORIES = LanguageModelling("stories", "Stories", Splits.of(TEXTS[:12], TEXTS[12:18], TEXTS[18:]))
PAIRS = [TextPair(text, text) for text in TEXTS]
COPYING = Translation("copying", "Copying", Splits.of(PAIRS[:12], PAIRS[12:18], PAIRS[18:]))
SETTINGS: dict[str, dict[str, Any]] = {
    "l0": {"penalty": 0.5, "rate": 0.5},
    "layerwise": {"penalty": 0.5, "rate": 0.5},
    "dsp": {"keep": 5},
    "dsp-ste": {"keep": 5},
}


@pytest.fixture(scope="module")
def writer() -> HeadModel:
    return tiny("gpt2", "<s> $A </s>")


@pytest.fixture(scope="module")
def translator() -> HeadModel:
    return tiny("marian")


def plan(key: str = "dsp", steps: int = 6, **further: Any) -> Plan:
    training = Settings(steps=steps, rate=1e-3, batch=4, every=3, n_judged=4)
    return Plan(scheme_with(key, SETTINGS[key]), training, **further)


def run(learning: Learning) -> list[Record]:
    return list(learning.steps())


def weights(head_model: HeadModel) -> dict[str, torch.Tensor]:
    return {name: value.clone() for name, value in head_model.model.state_dict().items()}


def equal(first: dict[str, torch.Tensor], second: dict[str, torch.Tensor]) -> bool:
    return first.keys() == second.keys() and all(torch.equal(first[name], second[name]) for name in first)


@pytest.mark.parametrize("key", sorted(SETTINGS))
def test_the_smaller_model_is_the_trained_one_without_the_heads_that_were_learned_to_go(
    key: str, writer: HeadModel
) -> None:
    before = weights(writer)
    learning = Learning(writer, STORIES, plan(key))
    run(learning)
    learned = learning.learned()
    assert equal(weights(writer), before)
    if "keep" in SETTINGS[key]:
        assert len(learned.mask) == len(writer.grid) - SETTINGS[key]["keep"]
    assert learned.smaller.removed == learned.mask.removed
    batch = next(STORIES.batches(writer, "development"))
    with torch.no_grad(), gated(learned.masked, learned.mask.as_gates().double()):
        masked = STORIES.losses(learned.masked, batch)
    with torch.no_grad():
        torch.testing.assert_close(STORIES.losses(learned.smaller, batch), masked)
        assert not torch.allclose(STORIES.losses(writer, batch), masked)


@pytest.mark.parametrize(
    ("key", "stop"),
    [(key, stop) for key in ("l0", "dsp") for stop in (3, 7, 10)] + [("layerwise", 3), ("dsp-ste", 3)],
)
def test_a_run_that_was_stopped_goes_on_bit_by_bit(
    key: str, stop: int, writer: HeadModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(learning_module, "MOST_PICTURES", 2)  # so that there is something untold at a checkpoint
    whole = Learning(writer, STORIES, plan(key, finetune=5))
    told = run(whole)
    stopped = Learning(writer, STORIES, plan(key, finetune=5))
    steps = stopped.steps()
    first = [next(steps) for _ in range(stop)]
    save_state(stopped.state(), tmp_path / "checkpoint.pt")
    next(steps)  # is done after the checkpoint and lost
    torch.rand(3)  # whatever else the process draws makes no difference
    resumed = Learning(writer, STORIES, plan(key, finetune=5))
    resumed.load(read_state(tmp_path / "checkpoint.pt"))
    assert [*first, *resumed.steps()] == told
    assert resumed.history == whole.history
    assert equal(weights(resumed.learned().smaller), weights(whole.learned().smaller))
    assert resumed.learned().scores == whole.learned().scores


def test_records_go_through_four_phases_and_tell_every_gate(writer: HeadModel) -> None:
    learning = Learning(writer, STORIES, plan("layerwise", finetune=4))
    records = run(learning)
    assert list(dict.fromkeys(record.phase for record in records)) == ["attached", "gates", "removed", "fine-tuning"]
    assert [record.step for record in records if record.phase == GATES] == [1, 2, 3, 4, 5, 6]
    gates = [record for record in records if record.phase == GATES]
    assert all(record.gates is not None and len(record.gates) == len(writer.grid) for record in gates)
    assert [record.step for record in gates if record.value is not None] == [3, 6]
    assert all(sum(record.kept or ()) == record.n_kept for record in gates)
    assert records[-1].phase == FINETUNING
    assert all(round(gate, 3) == gate for record in gates for gate in record.gates or ())
    assert [Record.from_json(record.to_json()) for record in records] == records


def test_losses_and_penalties_told_are_means_since_they_were_last_told(writer: HeadModel) -> None:
    fine, coarse = (GateTraining(writer, STORIES, plan("l0")) for _ in range(2))
    each = []
    for _ in range(4):
        fine.train_step()
        each.append(fine.outlay(1))
        coarse.train_step()
    loss, penalty = coarse.outlay(4)
    assert loss == pytest.approx(sum(one for one, _ in each) / 4)
    assert penalty == pytest.approx(sum(one for _, one in each) / 4)


def test_without_gates_a_step_is_one_of_fine_tuning(writer: HeadModel) -> None:
    """All heads kept: gates are 1 when cold, so the weights learn what plain fine-tuning teaches."""
    scheme = scheme_with("dsp-ste", {"keep": len(writer.grid)})
    whole = Plan(scheme, Settings(steps=4, rate=1e-3, batch=4))
    calm = copy.deepcopy(writer.model)
    calm.config.resid_pdrop = calm.config.embd_pdrop = calm.config.attn_pdrop = 0.0
    for module in calm.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
    still = HeadModel.of(calm, writer.tokenizer)
    training, tuning = GateTraining(still, STORIES, whole), FineTuning(still, STORIES, whole.training)
    for _ in range(4):
        training.train_step()
        tuning.train_step()
    assert training.outlay(4)[0] == pytest.approx(float(tuning._losses) / 4)
    for name, value in weights(tuning.head_model).items():
        torch.testing.assert_close(training.head_model.model.state_dict()[name], value)


def test_frozen_weights_stay_and_gates_learn(writer: HeadModel) -> None:
    learning = Learning(writer, STORIES, plan("l0", weights="frozen"))
    start = learning.training.learner.numbers.detach().clone()
    run(learning)
    assert equal(weights(learning.learned().masked), weights(writer))
    assert (learning.training.learner.numbers != start).all()


def test_only_the_stack_of_the_chosen_bank_is_trained_and_only_its_heads_go(translator: HeadModel) -> None:
    learning = Learning(translator, COPYING, plan("dsp", banks="encoder"))
    run(learning)
    learned = learning.learned()
    assert {head.bank for head in learned.gates} == {"encoder"}
    assert {head.bank for head in learned.mask.removed} == {"encoder"}
    before, after = weights(translator), weights(learned.masked)
    changed = {name for name in before if not torch.equal(before[name], after[name])}
    assert changed
    assert all(name.startswith("model.encoder.") for name in changed)
    assert not any("embed" in name for name in changed)  # they are shared with the decoder


def test_all_weights_are_trained_where_all_banks_have_gates(translator: HeadModel) -> None:
    training = GateTraining(translator, COPYING, plan("dsp"))
    assert training.parameters == [one for one in training.head_model.model.parameters() if one.requires_grad]
    assert len(training.parameters) > len(trained_weights(training.head_model, plan("dsp", banks="cross")))


def test_a_model_without_some_heads_has_no_gates_for_them(writer: HeadModel) -> None:
    gone = HeadId("decoder", 0, 1)
    smaller = without_heads(writer, HeadMask(writer.grid, frozenset({gone})))
    learning = Learning(smaller, STORIES, plan("dsp"))
    run(learning)
    learned = learning.learned()
    assert gone not in learned.gates
    assert gone not in learned.mask.removed
    assert len(learned.smaller.removed) == len(writer.grid) - 5


def test_training_reads_calibration_examples_alone(writer: HeadModel) -> None:
    read: set[str] = set()

    def watched(split: str) -> tuple[str, ...]:
        read.add(split)
        return STORIES.examples.make(split)

    training = GateTraining(writer, replace(STORIES, examples=Splits(watched)), plan("dsp"))
    for _ in range(3):
        training.train_step()
    assert read == {"calibration"}


def test_training_reads_fresh_examples_where_there_are_any(writer: HeadModel) -> None:
    read: list[object] = []

    def split(name: str) -> tuple[str, ...]:
        read.append(name)
        return STORIES.examples.make(name)

    def fresh(seed: int, number: int) -> tuple[str, ...]:
        read.append((seed, number))
        return STORIES.examples.make("calibration")[:5]

    training = GateTraining(writer, replace(STORIES, examples=Splits(split, fresh)), plan("dsp"))
    for _ in range(3):
        training.train_step()
    assert read == [(0, 0), (0, 1)]


@pytest.mark.parametrize("key", sorted(SETTINGS))
def test_a_step_reads_nothing_back_from_the_device(key: str) -> None:
    """The meta device refuses tensors of other devices, and values that are read."""
    away = tiny("gpt2", "<s> $A </s>")
    away.model.set_attn_implementation("eager")  # the library itself looks at masks for the other one
    away.model.to("meta")
    training = GateTraining(away, STORIES, plan(key))
    for _ in range(2):
        training.train_step()
    assert training.losses.device.type == "meta"
    assert training.step == 2


def test_another_seed_is_another_run_and_the_same_is_the_same(writer: HeadModel) -> None:
    found = []
    for seed in (0, 0, 1):
        settings = Settings(steps=3, rate=1e-3, batch=4, seed=seed)
        training = GateTraining(writer, STORIES, Plan(scheme_with("dsp", {"keep": 5}), settings))
        for _ in range(3):
            training.train_step()
        found.append(training.learner.scores())
    assert found[0] == found[1] != found[2]


def test_a_checkpoint_of_another_plan_is_refused(writer: HeadModel) -> None:
    state = Learning(writer, STORIES, plan("dsp")).state()
    with pytest.raises(ValueError, match=r"a checkpoint of .*; this run has "):
        Learning(writer, STORIES, plan("l0")).load(state)


@pytest.mark.parametrize(
    ("further", "message"),
    [
        ({"weights": "half"}, "weights 'half'; allowed: trained, frozen"),
        ({"finetune": -1}, "-1 steps of fine-tuning"),
        ({"banks": "encoder"}, "no bank 'encoder'"),
    ],
)
def test_a_bad_plan_is_one_sentence(further: dict[str, Any], message: str, writer: HeadModel) -> None:
    with pytest.raises((ValueError, KeyError)) as error:
        Learning(writer, STORIES, plan("dsp", **further))
    assert message in str(error.value)
