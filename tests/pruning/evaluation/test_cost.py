from __future__ import annotations

import time

import pytest
import torch
from transformers import BertConfig, BertForSequenceClassification, GenerationConfig

from headscope.models.all_attention import AllAttentionConfig, AllAttentionForCausalLM
from headscope.models.head_model import HeadModel
from headscope.models.inputs import longest_input, sized_inputs
from headscope.models.parameter_shares import ParameterShares
from headscope.pruning.evaluation.cost import Costs
from headscope.pruning.masks import HeadMask
from headscope.pruning.surgery import without_heads
from tests.families import FAMILIES, family, masks
from tests.pruning.operations import counted

LENGTH = 11
KINDS = ("random", "uneven", "empty first layer", "empty middle layer")
every_family = pytest.mark.parametrize("name", FAMILIES)
generating = pytest.mark.parametrize("name", [name for name in FAMILIES if family(name).model.can_generate()])


def all_attention() -> HeadModel:
    torch.manual_seed(0)
    config = AllAttentionConfig(
        vocab_size=60, hidden_size=32, num_hidden_layers=3, num_attention_heads=4, n_persistent=5
    )
    return HeadModel.of(AllAttentionForCausalLM(config))


def check(head_model: HeadModel, costs: Costs, mask: HeadMask) -> None:
    """Parameters and operations are those of the smaller model, to the last one."""
    cost, smaller = costs.under(mask), without_heads(head_model, mask)
    assert cost.parameters == smaller.n_parameters
    assert cost.attention_parameters == ParameterShares.of(smaller).attention
    assert cost.flops == counted(smaller, costs.length)


@every_family
def test_parameters_and_operations_are_those_of_the_smaller_model(name: str) -> None:
    head_model = family(name)
    costs = Costs.of(head_model, LENGTH)
    for kind in KINDS:
        check(head_model, costs, masks(head_model.grid)[kind])
    check(head_model, costs, HeadMask(head_model.grid))
    check(head_model, costs, HeadMask(head_model.grid, frozenset(head_model.grid)))


def test_parameters_that_a_head_holds_itself_are_counted() -> None:
    head_model = all_attention()
    costs = Costs.of(head_model, LENGTH)
    for kind in ("random", "uneven"):
        check(head_model, costs, masks(head_model.grid)[kind])
    emptied = masks(head_model.grid)["empty first layer"]
    cost, smaller = costs.under(emptied), without_heads(head_model, emptied)
    persistent_keys_of_the_phantom = 2 * 2 * LENGTH * 5 * 8
    assert cost.parameters == smaller.n_parameters
    assert cost.flops == counted(smaller, LENGTH) + persistent_keys_of_the_phantom


@pytest.mark.parametrize("name", ["llama", "t5", "gpt2", "deberta-v2", "albert"])
@pytest.mark.parametrize("kind", ["uneven", "empty first layer"])
def test_a_model_that_lost_heads_before_is_counted_from_where_it_is(name: str, kind: str) -> None:
    head_model = family(name)
    before, now = masks(head_model.grid)[kind], masks(head_model.grid)["random"]
    smaller = without_heads(head_model, before)
    costs = Costs.of(smaller, LENGTH)
    check(smaller, costs, now)
    assert costs.under(now) == Costs.of(head_model, LENGTH).under(before | now)


@generating
@pytest.mark.parametrize("kind", ["none", *KINDS])
def test_the_cache_is_what_generation_really_keeps(name: str, kind: str) -> None:
    head_model = family(name)
    mask = masks(head_model.grid).get(kind, HeadMask(head_model.grid))
    smaller = without_heads(head_model, mask).model
    prompt = {key: value for key, value in sized_inputs(smaller, 1, 5).items() if not key.startswith("decoder_")}
    settings = GenerationConfig(max_new_tokens=3, min_new_tokens=3, pad_token_id=0, return_dict_in_generate=True)
    cache = smaller.generate(**prompt, generation_config=settings).past_key_values
    sequences = (
        [getattr(cache, part) for part in ("self_attention_cache", "cross_attention_cache")]
        if (smaller.config.is_encoder_decoder)
        else [cache]
    )
    kept = sum(
        tensor.numel() // tensor.shape[-2]
        for part in sequences
        for layer in part.layers
        for tensor in (layer.keys, layer.values)
    )
    assert Costs.of(head_model, 4).under(mask).cache == kept > 0


def test_a_model_that_does_not_generate_keeps_nothing() -> None:
    head_model = family("bert")
    assert Costs.of(head_model, LENGTH).under(HeadMask(head_model.grid)).cache == 0


def test_operations_of_a_known_model_are_those_of_the_formula() -> None:
    head_model = family("bert")  # 3 layers of 4 heads, width 32, feed-forward 48, 2 labels
    n, d, inner = LENGTH, 32, 48
    layer = 2 * n * (4 * d * d + 2 * d * inner) + 4 * n * n * d
    pooler_and_labels = 2 * (d * d + 2 * d)
    costs = Costs.of(head_model, LENGTH)
    assert costs.under(HeadMask(head_model.grid)).flops == 3 * layer + pooler_and_labels
    without_one = costs.under(HeadMask.of(head_model.grid, "encoder.1.2")).flops
    assert 3 * layer + pooler_and_labels - without_one == 2 * n * 4 * d * 8 + 4 * n * n * 8


def test_a_key_value_head_is_counted_until_its_last_query_head_goes() -> None:
    head_model = family("llama")  # heads 0 and 1 share a key/value head of width 8
    costs = Costs.of(head_model, LENGTH)
    cache = [costs.under(HeadMask.of(head_model.grid, gone)).cache for gone in ("", "decoder.1.0")]
    assert cache == [3 * 2 * 2 * 8] * 2
    assert costs.under(HeadMask.of(head_model.grid, "decoder.1.0 decoder.1.1")).cache == cache[0] - 2 * 8


def test_a_length_beyond_what_the_model_takes_is_cut_to_the_longest() -> None:
    head_model = family("gpt2")
    assert longest_input(head_model.model) == 64
    assert Costs.of(head_model, 500) == Costs.of(head_model, 64)


def test_positions_that_are_kept_for_padding_cannot_be_used() -> None:
    model = family("roberta").model
    longest = longest_input(model)
    assert longest == 512 - 2
    model(**sized_inputs(model, 1, longest))
    with pytest.raises(ValueError, match="inputs of 511 tokens; RobertaForSequenceClassification takes at most 510"):
        sized_inputs(model, 1, 511)


def test_costs_can_be_told_while_gradients_are_off() -> None:
    head_model = family("deberta-v2")  # gives parameters to its modules, which the counter would stumble over
    with torch.inference_mode():
        inside = Costs.of(head_model, LENGTH)
    assert inside == Costs.of(head_model, LENGTH)


def test_the_model_is_left_as_it_was() -> None:
    head_model = family("bert")
    before = head_model.model.config._attn_implementation
    Costs.of(head_model, LENGTH)
    assert head_model.model.config._attn_implementation == before
    assert all(parameter.grad is None for parameter in head_model.model.parameters())


def test_a_cost_takes_less_than_a_few_milliseconds_at_the_size_of_bert() -> None:
    config = BertConfig(num_hidden_layers=12, num_attention_heads=12, hidden_size=24, intermediate_size=24)
    head_model = HeadModel.of(BertForSequenceClassification(config))
    costs = Costs.of(head_model, 4)
    mask = masks(head_model.grid)["random"]
    started = time.process_time()
    for _ in range(20):
        costs.under(mask)
    assert (time.process_time() - started) / 20 < 0.01


def test_a_mask_of_another_model_is_refused() -> None:
    with pytest.raises(ValueError, match="a mask for encoder 1 x 4; this model has encoder 3 x 4"):
        Costs.of(family("bert"), 4).under(HeadMask(family("albert").grid))
