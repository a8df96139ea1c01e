from __future__ import annotations

import pytest
import torch

from headscope.models.example_inputs import example_inputs, main_output
from headscope.models.gating import gated
from headscope.pruning.masks import HeadMask
from headscope.pruning.surgery import without_heads
from tests.families import family, masks


def test_the_original_is_untouched() -> None:
    head_model = family("llama")
    before = {name: value.clone() for name, value in head_model.model.state_dict().items()}
    inputs = example_inputs(head_model)
    plain = main_output(head_model, inputs)
    smaller = without_heads(head_model, masks(head_model.grid)["random"])
    main_output(smaller, inputs)
    assert all(torch.equal(before[name], value) for name, value in head_model.model.state_dict().items())
    assert torch.equal(main_output(head_model, inputs), plain)
    assert not hasattr(head_model.model.config, "head_plan")


def test_removing_a_head_takes_exactly_its_weights() -> None:
    head_model = family("bert")  # 32 wide, heads of 8: query, key and value rows with biases, output columns
    smaller = without_heads(head_model, HeadMask.of(head_model.grid, "encoder.1.2"))
    assert head_model.n_parameters - smaller.n_parameters == 3 * (8 * 32 + 8) + 32 * 8


def test_a_key_value_head_goes_with_its_last_query_head() -> None:
    head_model = family("llama")  # heads 0 and 1 share a key/value head
    query_and_output = 2 * 8 * 32
    one = without_heads(head_model, HeadMask.of(head_model.grid, "decoder.1.0"))
    both = without_heads(head_model, HeadMask.of(head_model.grid, "decoder.1.0 decoder.1.1"))
    assert head_model.n_parameters - one.n_parameters == query_and_output
    assert head_model.n_parameters - both.n_parameters == 2 * query_and_output + 2 * 8 * 32


def test_the_cache_of_a_smaller_model_holds_only_the_key_value_heads_that_are_left() -> None:
    head_model = family("llama")
    smaller = without_heads(head_model, HeadMask.of(head_model.grid, "decoder.1.0 decoder.1.1 decoder.2.3"))
    cache = smaller.model(**example_inputs(head_model), use_cache=True).past_key_values
    assert [layer.keys.shape[1] for layer in cache.layers] == [2, 1, 2]


def test_an_emptied_layer_has_no_attention_weights_left_but_its_output_bias() -> None:
    head_model = family("marian")
    smaller = without_heads(head_model, HeadMask(head_model.grid, frozenset(head_model.grid.layer("cross", 1))))
    left = dict(smaller.model.get_submodule(head_model.site("cross", 1).core).named_parameters())
    assert set(left) == {"out_proj.bias"}


def test_a_smaller_model_can_be_gated_by_the_old_addresses() -> None:
    head_model = family("marian")
    first = HeadMask.of(head_model.grid, "encoder.0.0 cross.1.2")
    second = HeadMask.of(head_model.grid, "encoder.0.1 decoder.2.3")
    inputs = example_inputs(head_model)
    with gated(head_model, (first | second).as_gates()):
        expected = main_output(head_model, inputs)
    smaller = without_heads(head_model, first)
    with gated(smaller, second.as_gates()):
        torch.testing.assert_close(main_output(smaller, inputs), expected, rtol=1e-4, atol=1e-5)


def test_a_mask_of_another_model_is_refused() -> None:
    with pytest.raises(ValueError, match="a mask for encoder 1 x 4; this model has encoder 3 x 4"):
        without_heads(family("bert"), HeadMask(family("albert").grid))
