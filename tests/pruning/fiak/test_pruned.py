from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest
import torch
import transformers as hf

from headscope.models.all_attention import AllAttentionConfig, AllAttentionForCausalLM
from headscope.models.example_inputs import main_output
from headscope.models.head_model import HeadModel
from headscope.models.inputs import probe_inputs, sized_inputs
from headscope.models.loading.fingerprint import fingerprint
from headscope.models.loading.loader import load
from headscope.models.recording.maps import attention_maps
from headscope.pruning.export.proof import attending
from headscope.pruning.fiak.layers import PriorLayer, prior_layers
from headscope.pruning.fiak.model_folder import load_model, load_without_scores, save_without_scores
from headscope.pruning.fiak.picked_keys import BLOCK
from headscope.pruning.fiak.priors import PriorAttention, with_priors
from headscope.pruning.fiak.pruned_attention import masked, without_scores
from headscope.pruning.fiak.pruning_choice import Choice, chosen
from headscope.pruning.fiak.ratios import layer_ratios
from headscope.pruning.fiak.savings import savings
from headscope.pruning.fiak.selection import KeptLayer
from headscope.pruning.masks import HeadMask
from headscope.pruning.surgery import without_heads
from headscope.runs.execution.model_cache import ModelCache
from tests.families import FAMILIES, family

N = 7
COVERED = [name for name in FAMILIES if name != "deberta-v2"]
CHOICES = {
    "scores": Choice(0.6),
    "mixed": Choice(0.6, 0.3),
    "mixed, keys of the layer": Choice(0.6, 0.4, shared="layer"),
    "keys of heads": Choice(0.0, 0.5, "key"),
    "keys of the layer": Choice(0.0, 0.5, "key", shared="layer"),
}


def exact(name: str) -> HeadModel:
    head_model = family(name)
    return replace(head_model, model=copy.deepcopy(head_model.model).double())


def some_kept(layers: Sequence[PriorLayer], choice: Choice, seed: int = 0) -> dict[str, KeptLayer]:
    generator = torch.Generator().manual_seed(seed)
    sizes = {one.name: (len(one.heads), one.length if choice.prior == "pair" else 1, one.length) for one in layers}
    return chosen(choice, layers, {name: torch.rand(size, generator=generator) for name, size in sizes.items()})


EVERYWHERE = ("mixed, keys of the layer", "keys of heads")
SOMEWHERE = ("scores", "mixed", "keys of the layer")


@pytest.mark.parametrize(
    ("name", "choice"),
    [*product(COVERED, EVERYWHERE), *product(["bert", "gpt2", "llama", "vit", "t5"], SOMEWHERE)],
)
def test_the_pruned_model_is_the_masked_one(name: str, choice: str) -> None:
    head_model = family(name)
    layers = prior_layers(head_model, N)
    kept = some_kept(layers, CHOICES[choice])
    inputs = probe_inputs(head_model.model, batch=2)
    dense = main_output(head_model, inputs)
    expected = main_output(masked(head_model, layers, kept), inputs)
    found = main_output(without_scores(head_model, layers, kept), inputs)
    assert (found - expected).abs().max() < 1e-5 * dense.abs().max()
    assert (expected - dense).abs().max() > 1e-2 * dense.abs().max()
    wrong = main_output(without_scores(head_model, layers, some_kept(layers, CHOICES[choice], seed=1)), inputs)
    assert (wrong - expected).abs().max() > 1e-3 * dense.abs().max()


@pytest.mark.parametrize("name", ["vit", "gpt2", "llama"])
def test_a_mask_is_a_prior_of_zero_and_one(name: str) -> None:
    """Priors of one and of nearly zero: what is left of pruned scores is a millionth."""
    head_model = exact(name)
    layers = prior_layers(head_model, N)
    kept = some_kept(layers, Choice(0.3))
    alive = {one.name: kept[one.name].scores.any(-1) for one in layers}
    for one in layers:  # a prior cannot be zero everywhere
        kept[one.name].scores[~alive[one.name]] = one.visible().expand(len(one.heads), -1, -1)[~alive[one.name]]
    primed = with_priors(head_model, layers)
    for one in layers:
        rule = primed.model.get_submodule(one.core).fiak
        assert isinstance(rule, PriorAttention)
        rule.theta.data = (kept[one.name].scores.double() / one.initial - 1) / 100
    inputs = sized_inputs(head_model.model, 1, N)
    expected = main_output(primed, inputs)
    torch.testing.assert_close(main_output(masked(head_model, layers, kept), inputs), expected, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("choice", ["keys of heads", "keys of the layer", "mixed"])
@pytest.mark.parametrize("name", ["bert", "gpt2", "llama", "t5"])
@pytest.mark.parametrize("length", [4])
def test_shorter_and_padded_inputs_are_those_of_the_masked_model(name: str, choice: str, length: int) -> None:
    head_model = exact(name)
    layers = prior_layers(head_model, N)
    kept = some_kept(layers, CHOICES[choice])
    inputs = sized_inputs(head_model.model, 2, length)
    padding = torch.ones_like(inputs["input_ids"])
    padding[0, -2:] = 0
    inputs["attention_mask"] = padding
    expected = main_output(masked(head_model, layers, kept), inputs)
    pruned = without_scores(head_model, layers, kept)
    for implementation in ("eager", "sdpa"):
        with attending(pruned.model, implementation):
            torch.testing.assert_close(main_output(pruned, inputs), expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("choice", CHOICES)
@pytest.mark.parametrize("name", ["gpt2", "llama"])
def test_a_cache_gives_what_one_pass_gives(name: str, choice: str) -> None:
    head_model = exact(name)
    layers = prior_layers(head_model, N)
    pruned = without_scores(head_model, layers, some_kept(layers, CHOICES[choice]))
    tokens = sized_inputs(head_model.model, 1, N)["input_ids"]
    with torch.no_grad():
        whole = pruned.model(input_ids=tokens).logits
        steps, cache = [], None
        for part in (tokens[:, :4], tokens[:, 4:5], tokens[:, 5:]):
            said = pruned.model(input_ids=part, past_key_values=cache, use_cache=True)
            steps, cache = [*steps, said.logits], said.past_key_values
    torch.testing.assert_close(torch.cat(steps, dim=1), whole)


def test_a_causal_model_sees_nothing_of_what_comes_later_even_without_any_key() -> None:
    head_model = exact("gpt2")
    layers = prior_layers(head_model, N)
    kept = {one.name: KeptLayer.of_keys(keys_without(one, [0, 1]), one.visible()) for one in layers}
    tokens = sized_inputs(head_model.model, 1, N)["input_ids"]
    other = tokens.clone()
    other[:, 2:] = 17
    for make in (masked, without_scores):
        pruned = make(head_model, layers, kept)
        before, after = (main_output(pruned, {"input_ids": given}) for given in (tokens, other))
        torch.testing.assert_close(before[:, :2], after[:, :2])  # these two queries see no key at all
        assert (before[:, 2:] - after[:, 2:]).abs().max() > 1e-3


@pytest.mark.parametrize("name", ["bert", "gpt2"])
def test_a_layer_may_lose_every_key(name: str) -> None:
    head_model = exact(name)
    layers = prior_layers(head_model, N)
    kept = some_kept(layers, Choice(0.3))
    none = torch.zeros_like(kept[layers[1].name].keys)
    kept[layers[1].name] = KeptLayer.of_keys(none, layers[1].visible())
    inputs = sized_inputs(head_model.model, 2, N)
    expected = main_output(masked(head_model, layers, kept), inputs)
    torch.testing.assert_close(main_output(without_scores(head_model, layers, kept), inputs), expected)
    assert expected.isfinite().all()


@pytest.mark.parametrize("choice", ["keys of heads", "mixed, keys of the layer"])
def test_keys_of_the_layer_itself_are_never_pruned(choice: str) -> None:
    torch.manual_seed(0)
    config = AllAttentionConfig(
        vocab_size=60, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, n_persistent=5, initializer_range=0.3
    )
    head_model = HeadModel.of(AllAttentionForCausalLM(config).double().eval())
    layers = prior_layers(head_model, N)
    kept = some_kept(layers, CHOICES[choice])
    pruned = without_scores(head_model, layers, kept)
    inputs = sized_inputs(head_model.model, 2, N)
    found = main_output(pruned, inputs)
    torch.testing.assert_close(found, main_output(masked(head_model, layers, kept), inputs))
    maps = attention_maps(pruned, sized_inputs(head_model.model, 1, N))["decoder", 1]
    assert (maps[..., :5] > 0).all()
    assert torch.equal(maps[..., 5:] > 0, kept["decoder.1"].scores)


def keys_without(layer: PriorLayer, gone: list[int]) -> torch.Tensor:
    keys = torch.ones(len(layer.heads), layer.length, dtype=torch.bool)
    keys[:, gone] = False
    return keys


def test_keys_and_values_that_no_head_needs_are_not_made() -> None:
    head_model = exact("vit")
    (first, *_) = layers = prior_layers(head_model)
    kept = {one.name: KeptLayer.of_keys(keys_without(one, [1, 3]), one.visible()) for one in layers}
    pruned = without_scores(head_model, layers, kept)
    made: dict[str, torch.Tensor] = {}
    core = pruned.model.get_submodule(first.core)
    for name in ("q_proj", "k_proj", "v_proj"):
        core.get_submodule(name).register_forward_hook(lambda _, __, output, name=name: made.update({name: output}))
    main_output(pruned, probe_inputs(head_model.model))
    for name in ("k_proj", "v_proj"):
        assert made[name][:, [1, 3]].abs().max() == 0
        assert made[name][:, [0, 2, 4]].abs().amin(dim=-1).min() > 0
    assert made["q_proj"].abs().amin(dim=-1).min() > 0


def test_operations_saved_are_those_of_the_keys() -> None:
    head_model = family("vit")
    layers = prior_layers(head_model)
    n, width, n_heads, n_layers = layers[0].length, layers[0].width, len(layers[0].heads), len(layers)
    d_model = n_heads * width
    gone = {one.name: KeptLayer.of_keys(keys_without(one, [1, 3]), one.visible()) for one in layers}
    told = savings(head_model, without_scores(head_model, layers, gone), layers, gone)
    assert (told.scores, told.scores_kept) == (n_layers * n_heads * n * n, n_layers * n_heads * n * (n - 2))
    assert (told.keys, told.keys_kept) == (n_layers * n_heads * n, n_layers * n_heads * (n - 2))
    of_attention = 4 * n * 2 * d_model
    of_projections = 2 * 2 * 2 * d_model * d_model
    assert told.flops_dense - told.flops == n_layers * (of_attention + of_projections)
    assert told.flops_if_skipped == told.flops


def test_scores_pruned_here_and_there_cost_what_they_cost_and_the_count_says_so() -> None:
    head_model = family("vit")
    layers = prior_layers(head_model)
    kept = some_kept(layers, Choice(0.3))
    told = savings(head_model, without_scores(head_model, layers, kept), layers, kept)
    assert told.flops == told.flops_dense
    pruned = told.scores - told.scores_kept
    assert told.flops_if_skipped == told.flops_dense - 4 * layers[0].width * pruned


def long_model() -> HeadModel:
    torch.manual_seed(0)
    config = hf.GPT2Config(vocab_size=60, n_embd=32, n_layer=2, n_head=4, n_positions=3 * BLOCK, initializer_range=0.4)
    return HeadModel.of(hf.GPT2LMHeadModel(config).double().eval())


def test_blocks_of_queries_that_need_few_keys_are_given_only_those() -> None:
    head_model = long_model()
    length = 3 * BLOCK - 10
    layers = prior_layers(head_model, length)
    band = (torch.arange(length)[:, None] - torch.arange(length)).abs() < 20
    kept = {
        one.name: KeptLayer((one.visible() & band).expand(4, -1, -1).clone(), torch.ones(4, length, dtype=torch.bool))
        for one in layers
    }
    pruned = without_scores(head_model, layers, kept)
    inputs = sized_inputs(head_model.model, 2, length)
    torch.testing.assert_close(main_output(pruned, inputs), main_output(masked(head_model, layers, kept), inputs))
    told = savings(head_model, pruned, layers, kept)
    assert told.flops < told.flops_dense - 0.4 * 2 * 4 * length**2 * 32
    with torch.no_grad():
        begun = pruned.model(input_ids=inputs["input_ids"][:, :-5], use_cache=True)
        rest = pruned.model(input_ids=inputs["input_ids"][:, -5:], past_key_values=begun.past_key_values).logits
    torch.testing.assert_close(rest, main_output(pruned, inputs)[:, -5:])


def test_attention_maps_of_a_pruned_model_have_every_key_in_its_place() -> None:
    head_model = exact("vit")
    layers = prior_layers(head_model)
    kept = some_kept(layers, CHOICES["keys of heads"])
    pruned = without_scores(head_model, layers, kept)
    found = attention_maps(pruned, probe_inputs(head_model.model))["encoder", 1]
    assert torch.equal(found > 0, kept["encoder.1"].scores)


@pytest.mark.parametrize("choice", ["mixed", "keys of heads", "keys of the layer"])
@pytest.mark.parametrize("name", ["gpt2", "llama", "t5"])
def test_heads_can_be_removed_first(name: str, choice: str) -> None:
    head_model = family(name)
    gone = [str(head) for head in head_model.grid if (head.layer, head.head) in {(0, 0), (0, 1), (0, 2), (1, 3)}]
    smaller = without_heads(head_model, HeadMask.of(head_model.grid, gone))
    layers = prior_layers(smaller, N)
    kept = some_kept(layers, CHOICES[choice])
    inputs = probe_inputs(smaller.model, batch=2)
    expected = main_output(masked(smaller, layers, kept), inputs)
    found = main_output(without_scores(smaller, layers, kept), inputs)
    assert (found - expected).abs().max() < 1e-5 * expected.abs().max()


@pytest.mark.parametrize("form", ["dot", "distance"])
@pytest.mark.parametrize("name", ["vit", "gpt2", "llama"])
def test_a_saved_model_loads_to_the_same(name: str, form: str, tmp_path: Path) -> None:
    head_model = family(name)
    smaller = without_heads(head_model, HeadMask(head_model.grid).prune(head_model.grid.heads[1]))
    layers = prior_layers(smaller, N)
    kept = some_kept(layers, CHOICES["mixed, keys of the layer"])
    pruned = without_scores(smaller, layers, kept, form)
    save_without_scores(pruned, layers, kept, form, tmp_path)
    again = load_without_scores(tmp_path)
    inputs = probe_inputs(head_model.model, batch=2)
    assert torch.equal(main_output(again, inputs), main_output(pruned, inputs))
    assert again.removed == smaller.removed
    assert savings(smaller, again, layers, kept).flops == savings(smaller, pruned, layers, kept).flops
    other = without_scores(smaller, layers, kept, {"dot": "distance", "distance": "dot"}[form])
    assert not torch.allclose(main_output(other, inputs), main_output(pruned, inputs))


def test_a_saved_folder_is_not_mistaken_for_a_dense_model(tmp_path: Path) -> None:
    head_model = family("vit")
    layers = prior_layers(head_model)
    kept = some_kept(layers, Choice(0.5))
    save_without_scores(without_scores(head_model, layers, kept), layers, kept, "dot", tmp_path)
    with pytest.raises(ValueError, match=r"no config.json in"):
        load(tmp_path)
    with pytest.raises(ValueError, match=r"no fiak.safetensors in"):
        load_without_scores(tmp_path / "model")
    (tmp_path / "fiak.safetensors").write_bytes(b"nothing")
    with pytest.raises(ValueError, match="is broken or was not written by this program"):
        load_without_scores(tmp_path)


def test_a_pruned_model_can_be_trained_after_it_was_judged() -> None:
    head_model = exact("gpt2")
    layers = prior_layers(head_model, N)
    pruned = without_scores(head_model, layers, some_kept(layers, CHOICES["mixed, keys of the layer"]))
    inputs = sized_inputs(head_model.model, 1, N)
    main_output(pruned, inputs)  # in inference mode
    reference = masked(head_model, layers, some_kept(layers, CHOICES["mixed, keys of the layer"]))
    gradients = []
    for one in (pruned, reference):
        weight = one.model.get_submodule("transformer.h.0.attn.c_attn").weight
        gradients.append(torch.autograd.grad(one.model(**inputs).logits.square().sum(), weight)[0])
    torch.testing.assert_close(gradients[0], gradients[1], rtol=1e-4, atol=1e-4)


def test_the_arithmetic_of_a_layer_has_its_known_ends() -> None:
    assert layer_ratios(128, 64, 0.0, 0.0) == (1.0, 1.0)
    operations, memory = layer_ratios(10**6, 64, 0.7, 0.2)
    assert operations == pytest.approx(0.3, abs=1e-3)
    assert memory == pytest.approx(0.3, abs=1e-3)
    assert layer_ratios(1, 10**6, 0.7, 0.2)[0] == pytest.approx(0.9, abs=1e-3)


def test_a_pruned_folder_loads_wherever_a_model_is_named(tmp_path: Path) -> None:
    head_model = family("vit")
    layers = prior_layers(head_model)
    kept = some_kept(layers, Choice(0.5))
    pruned = without_scores(head_model, layers, kept)
    save_without_scores(pruned, layers, kept, "dot", tmp_path)
    shelf = ModelCache()
    again = shelf.get(str(tmp_path))
    inputs = probe_inputs(head_model.model, batch=2)
    assert again.name == str(tmp_path)
    assert torch.equal(main_output(again, inputs), main_output(pruned, inputs))
    with pytest.raises(ValueError, match="can be switched off but no longer cut out; remove heads first"):
        without_heads(again, HeadMask(again.grid).prune(again.grid.heads[1]))
    mark = fingerprint(str(tmp_path))
    with torch.no_grad():
        next(iter(pruned.model.parameters())).add_(1.0)
    save_without_scores(pruned, layers, kept, "dot", tmp_path)
    assert fingerprint(str(tmp_path)) != mark  # other weights, though they lie in a folder below
    with pytest.raises(ValueError, match="no model named"):
        load_model("")
    with pytest.raises(ValueError, match="no folder"):
        load_model("/nothing/here")
