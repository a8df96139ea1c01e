from __future__ import annotations

import pytest
import torch
from torch import Tensor

from headscope.models.gating import gated
from headscope.models.head_model import HeadModel
from headscope.models.heads import HeadId
from headscope.models.inputs import probe_inputs
from headscope.models.recording.head_outputs import watching_contexts
from headscope.pruning.masks import HeadMask
from headscope.pruning.training.rescaling import Fit, Sums, bounded, folded, repair, rescaling, smallest_step
from headscope.tasks.batches.batching import IGNORED, Batch
from headscope.tasks.language_modelling import LanguageModelling
from headscope.tasks.task import Splits
from tests.families import FAMILIES, family, masks
from tests.tasks.tiny import TEXTS, tiny


def batches_of(head_model: HeadModel) -> list[Batch]:
    """Three random batches, the last with padding where the model reads a mask."""
    found = []
    for number in range(3):
        inputs = probe_inputs(head_model.model, batch=4)
        if "input_ids" in inputs:
            inputs = {name: value.roll(number, dims=1) for name, value in inputs.items()}
            mask = torch.ones_like(inputs["input_ids"])
            if number == 2:
                mask[1, 4:] = 0
            inputs["attention_mask"] = mask
        labels = torch.ones_like(inputs.get("decoder_input_ids", torch.zeros(4, 1, dtype=torch.long)))
        if number == 2:
            labels[2, 3:] = IGNORED
        found.append(Batch("calibration", (0, 1, 2, 3), inputs, labels))
    return found


def drained(head_model: HeadModel, mask: HeadMask, batches: list[Batch]) -> tuple[list[Fit], Tensor]:
    steps, fits = rescaling(head_model, mask, batches), []
    while True:
        try:
            fits.append(next(steps))
        except StopIteration as end:
            return fits, end.value


def literal_scales(head_model: HeadModel, mask: HeadMask, batches: list[Batch]) -> Tensor:
    """Every head's output at every position is stored, and each layer is one large least-squares problem."""
    gates = mask.as_gates().double()
    for site in head_model.sites:
        staying = [head for head in site.kept if HeadId(site.bank, site.layer, head) not in mask]
        output = head_model.model.get_submodule(site.output)
        weight = output.weight.detach() if type(output).__name__ == "Conv1D" else output.weight.detach().T  # type: ignore
        columns, wanted = [], []
        for batch in batches:
            seen = []
            for own in (torch.ones_like(gates), gates):
                with torch.no_grad(), watching_contexts(head_model) as contexts, gated(head_model, own):
                    head_model.model(**batch.inputs)
                seen.append(next(one.values for one in contexts if one.site is site))
            two = site.bank != "encoder" and "decoder_input_ids" in batch.inputs
            real = batch.labels != IGNORED if two else batch.inputs["attention_mask"].bool()
            heads = seen[1][real].unflatten(-1, (len(site.kept), site.width))  # [position, head, column]
            by_head = torch.einsum("phc,hcd->phd", heads, weight.unflatten(0, (len(site.kept), site.width)))
            columns.append(by_head[:, staying].transpose(1, 2).flatten(0, 1))  # [position and output, head]
            wanted.append((seen[0][real] @ weight).flatten())
        solution = torch.linalg.lstsq(torch.cat(columns), torch.cat(wanted)[:, None]).solution[:, 0]
        for head, scale in zip(staying, solution, strict=True):
            gates[head_model.grid.positions[HeadId(site.bank, site.layer, head)]] = scale
    return gates


@pytest.mark.parametrize("name", ["bert", "gpt2", "marian", "llama"])
def test_scales_are_those_of_least_squares_on_stored_activations(name: str) -> None:
    head_model = tiny(name)
    mask = masks(head_model.grid)["random"]
    for layer in range(3):  # at least two heads of every layer stay, so that every problem has one solution
        for bank in head_model.grid.banks:
            mask = mask.restore(*head_model.grid.layer(bank.bank, layer)[:2])
    mask = mask.prune(head_model.grid.heads[2])
    batches = batches_of(head_model)
    _, gates = drained(head_model, mask, batches)
    expected = literal_scales(head_model, mask, batches)
    assert (expected - mask.as_gates()).abs().max() > 0.05
    torch.testing.assert_close(gates, expected, rtol=1e-5, atol=1e-6)


def test_a_head_that_says_what_the_removed_one_said_speaks_twice_as_loud() -> None:
    site = family("bert").sites[0]  # four heads of width 8
    sums = Sums.empty(site, family("bert"))
    sums.weight[8:16] = sums.weight[:8]  # head 1 is read as head 0 is
    whole = torch.randn(3, 5, 32, dtype=torch.float64)
    whole[..., 8:16] = whole[..., :8]
    whole[..., 24:] = 0.0  # head 3 says nothing, so no scale is better than another
    pruned = whole.clone()
    pruned[..., :8] = 0.0
    sums.add(whole, pruned, None)
    scales, before, after = sums.solved([1, 2, 3])
    torch.testing.assert_close(scales, torch.tensor([2.0, 1.0, 1.0], dtype=torch.float64))
    assert before > 0.01
    assert after < 1e-12


def test_what_stands_in_padding_does_not_count() -> None:
    site = family("bert").sites[0]
    whole, pruned = torch.randn(2, 2, 5, 32, dtype=torch.float64)
    counted = torch.tensor([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]]).bool()
    found = []
    for rubbish in (1e3, float("nan")):
        whole[~counted], pruned[~counted] = rubbish, -rubbish
        sums = Sums.empty(site, family("bert"))
        sums.add(whole, pruned, counted)
        found.append(sums.solved([0, 1, 2, 3])[0])
    assert torch.equal(found[0], found[1])


@pytest.mark.parametrize("name", ["bert", "gpt2", "llama", "t5", "marian", "vit", "albert", "deberta-v2", "opt"])
def test_a_smaller_model_with_folded_scales_computes_what_the_gates_compute(name: str) -> None:
    head_model = family(name)
    batches = batches_of(head_model)
    for mask in masks(head_model.grid).values():
        if len(mask) == len(head_model.grid):
            continue
        _, gates = drained(head_model, mask, batches)
        with torch.no_grad(), gated(head_model, gates):
            expected = head_model.model(**batches[0].inputs).logits
        with torch.no_grad():
            found = folded(head_model, mask, gates).model(**batches[0].inputs).logits
            unscaled = folded(head_model, mask, torch.ones_like(gates)).model(**batches[0].inputs).logits
        scale = expected.abs().max()
        assert (found - expected).abs().max() <= 1e-5 * scale
        assert (unscaled - expected).abs().max() > 1e-3 * scale


def test_the_original_is_untouched() -> None:
    head_model = family("gpt2")
    before = {name: value.clone() for name, value in head_model.model.state_dict().items()}
    mask = masks(head_model.grid)["uneven"]
    _, gates = drained(head_model, mask, batches_of(head_model))
    folded(head_model, mask, gates)
    assert all(torch.equal(before[name], value) for name, value in head_model.model.state_dict().items())


@pytest.mark.parametrize("name", sorted(FAMILIES))
def test_no_layer_is_farther_from_its_output_than_with_scales_one(name: str) -> None:
    head_model = family(name)
    mask = masks(head_model.grid)["random"]
    fits, gates = drained(head_model, mask, batches_of(head_model))
    assert fits
    assert all(0 <= fit.error_after <= fit.error_before for fit in fits)
    assert any(fit.error_after < 0.99 * fit.error_before for fit in fits)
    assert all(gates[head_model.grid.positions[head]] == 0 for head in mask.removed)
    assert gates.abs().max() <= 10


def test_layers_before_the_first_removed_head_keep_their_scales() -> None:
    head_model = tiny("bert")
    mask = HeadMask.of(head_model.grid, "encoder.1.0 encoder.1.2")
    fits, gates = drained(head_model, mask, batches_of(head_model))
    assert torch.equal(gates[:4], torch.ones(4, dtype=torch.float64))
    assert fits[0].error_before < 1e-12
    assert fits[1].error_before > 1e-4
    assert drained(head_model, HeadMask(head_model.grid), batches_of(head_model))[1].tolist() == [1.0] * 12


def test_what_only_rounding_changed_is_not_repaired() -> None:
    whole = torch.randn(3, 5, 32, dtype=torch.float64)
    for noise, repaired in ((1e-7, False), (1e-2, True)):
        sums = Sums.empty(family("bert").sites[0], family("bert"))
        sums.add(whole, whole * (1 + noise * torch.randn_like(whole)), None)
        scales, _, _ = sums.solved([0, 1, 2, 3])
        assert (scales.tolist() != [1.0] * 4) == repaired


def test_a_scale_beyond_ten_shortens_the_step_of_its_whole_layer() -> None:
    found = bounded(torch.tensor([19.0, 3.0, 1.0], dtype=torch.float64))
    torch.testing.assert_close(found, torch.tensor([10.0, 2.0, 1.0], dtype=torch.float64))
    found = bounded(torch.tensor([-21.0, 3.0], dtype=torch.float64))
    torch.testing.assert_close(found, torch.tensor([-10.0, 2.0], dtype=torch.float64))
    near = torch.tensor([2.0, -3.0], dtype=torch.float64)
    torch.testing.assert_close(bounded(near), near)


def test_heads_that_say_the_same_share_the_step_and_silent_ones_stay() -> None:
    among = torch.tensor([[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 0.0]], dtype=torch.float64)
    step = smallest_step(among, torch.tensor([3.0, 3.0, 0.0], dtype=torch.float64))
    torch.testing.assert_close(step, torch.tensor([1.5, 1.5, 0.0], dtype=torch.float64))


def test_a_model_is_repaired_from_the_calibration_examples_of_its_task() -> None:
    head_model = tiny("gpt2")
    asked: list[str] = []

    def make(split: str) -> tuple[str, ...]:
        asked.append(split)
        return tuple(TEXTS)

    task = LanguageModelling("own", "Own", Splits(make))
    mask = masks(head_model.grid)["uneven"]
    steps = repair(head_model, task, mask, n=12)
    fits = list(steps)
    assert set(asked) == {"calibration"}
    assert [fit.heads[0].layer for fit in fits] == [0, 1, 2]
