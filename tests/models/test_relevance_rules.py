from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from functools import partial

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional
from transformers.activations import ACT2FN
from transformers.models.llama.modeling_llama import LlamaRMSNorm

from headscope.models.head_model import HeadModel
from headscope.models.relevance.operations import AttentionRule
from headscope.models.relevance.rules import RelevancePass, relevance_rules
from tests.models.capture_reference import lively, padded_inputs
from tests.reference.lrp import layer_norm, linear

VALUES = torch.tensor([[0.5, -1.5, 2.0, 0.25], [1.0, 0.75, -0.5, -2.0]], dtype=torch.float64)


class Reading(nn.Module):
    """One function of `values`, with whatever modules it uses."""

    def __init__(self, function: Callable[[Tensor], Tensor], *modules: nn.Module) -> None:
        super().__init__()
        self.function = function
        self.used = nn.ModuleList(modules)

    def forward(self, values: Tensor) -> Tensor:
        return self.function(values)


def relevances(model: nn.Module) -> tuple[Tensor, Tensor, list[Tensor]]:
    """What the model gives, and what of that, taken as relevance, its input gets and each constant."""
    with relevance_rules(model, {"values": VALUES}) as passing:
        result = model(**passing.inputs)
    torch.testing.assert_close(result, model(VALUES))  # the rules change no number
    entering = [*passing.entered, *passing.constants]
    found = torch.autograd.grad(result.sum(), entering, materialize_grads=True)
    shares = [leaf.detach() * gradient for leaf, gradient in zip(entering, found, strict=True)]
    return result.detach(), shares[0], shares[1:]


def seeded(module: nn.Module) -> nn.Module:
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=generator))
    return module.double()


def array(values: Tensor) -> np.ndarray:
    return values.detach().double().numpy()


def test_a_linear_layer_and_its_bias_get_what_they_add() -> None:
    layer = seeded(nn.Linear(4, 3))
    result, to_input, (to_bias,) = relevances(layer_of(layer))
    expected = [
        linear(array(row), array(layer.weight).T, array(layer.bias), array(out))
        for row, out in zip(VALUES, result, strict=True)
    ]
    np.testing.assert_allclose(to_input, [inputs for inputs, _ in expected])
    np.testing.assert_allclose(to_bias, sum(biases for _, biases in expected))


def layer_of(layer: nn.Module) -> Reading:
    return Reading(layer, layer)


def test_a_layer_norm_treats_the_deviation_as_a_constant() -> None:
    norm = seeded(nn.LayerNorm(4))
    result, to_input, _ = relevances(layer_of(norm))
    expected = [
        layer_norm(array(row), array(norm.weight), array(norm.bias), norm.eps, array(out))
        for row, out in zip(VALUES, result, strict=True)
    ]
    np.testing.assert_allclose(to_input, expected)


@pytest.mark.parametrize("norm", [nn.RMSNorm(4), LlamaRMSNorm(4)], ids=["torch", "llama"])
def test_an_rms_norm_hands_every_neuron_what_it_gets(norm: nn.Module) -> None:
    result, to_input, _ = relevances(layer_of(seeded(norm)))
    torch.testing.assert_close(to_input, result, atol=1e-6, rtol=1e-6)


@pytest.mark.parametrize("name", ["gelu", "gelu_new", "gelu_fast", "quick_gelu", "relu", "relu2", "silu", "tanh"])
def test_an_activation_hands_on_what_it_gets(name: str) -> None:
    activation = ACT2FN[name]
    result, to_input, constants = relevances(layer_of(activation))
    torch.testing.assert_close(to_input, result)
    assert all(not share.any() for share in constants)


def in_place(values: Tensor) -> Tensor:
    return functional.silu(2 * values, inplace=True)


@pytest.mark.parametrize("function", [functional.gelu, functional.silu, torch.tanh, torch.relu, in_place])
def test_an_activation_that_is_no_module_does_so_too(function: Callable[[Tensor], Tensor]) -> None:
    result, to_input, _ = relevances(Reading(function))
    torch.testing.assert_close(to_input, result)


def test_an_activation_at_zero_gives_nothing() -> None:
    with relevance_rules(nn.Identity(), {"values": torch.zeros(3)}) as passing:
        result = functional.silu(passing.inputs["values"])
    (gradient,) = torch.autograd.grad(result.sum(), passing.entered)
    assert gradient.isfinite().all()


def test_both_factors_of_a_gated_layer_get_half() -> None:
    gate, up, down = (seeded(nn.Linear(4, 4, bias=False)) for _ in range(3))
    result, to_input, _ = relevances(
        Reading(lambda values: down(functional.silu(gate(values)) * up(values)), gate, up, down)
    )
    nothing = np.zeros(4)
    for place, row in enumerate(VALUES):
        product = functional.silu(gate(row)) * up(row)
        at_product, _ = linear(array(product), array(down.weight).T, nothing, array(result[place]))
        by_gate, _ = linear(array(row), array(gate.weight).T, nothing, at_product / 2)
        by_up, _ = linear(array(row), array(up.weight).T, nothing, at_product / 2)
        np.testing.assert_allclose(to_input[place], by_gate + by_up)


def test_what_is_divided_gets_all_and_its_divisor_is_a_constant() -> None:
    result, to_input, _ = relevances(Reading(lambda values: values / (values.square().sum() + 1)))
    torch.testing.assert_close(to_input, result)


def test_what_is_joined_or_added_without_regard_to_the_input_is_a_constant() -> None:
    token = nn.Parameter(torch.tensor([[7.0, 8.0, 9.0, 10.0]], dtype=torch.float64))
    model = Reading(lambda values: torch.cat([token, values]) + 2.5)
    _, to_input, (to_token, to_number) = relevances(model)
    torch.testing.assert_close(to_input, VALUES)
    torch.testing.assert_close(to_token, token.detach())
    assert float(to_number) == pytest.approx(2.5 * 12)


def test_tokens_enter_as_embeddings_and_positions_are_constants() -> None:
    head_model = lively("bert")
    inputs = padded_inputs(head_model.model)
    with relevance_rules(head_model.model, inputs) as passing:
        head_model.model(**passing.inputs)
    (words,) = passing.entered
    torch.testing.assert_close(words, head_model.model.bert.embeddings.word_embeddings(inputs["input_ids"]).detach())
    assert len(passing.constants) > len(list(head_model.model.bert.encoder.layer)) * 6


@pytest.mark.parametrize("rule", ["cp", "attnlrp"])
def test_eager_and_fused_attention_give_the_same_relevance(rule: str) -> None:
    head_model = lively("llama")
    inputs = padded_inputs(head_model.model)
    before = head_model.model.config._attn_implementation
    found = []
    try:
        for name in ("eager", "sdpa"):
            head_model.model.set_attn_implementation(name)
            found.append(to_words(head_model, inputs, rule))
    finally:
        head_model.model.set_attn_implementation(before)
    torch.testing.assert_close(*found, atol=1e-6, rtol=1e-5)


def attended(values: Tensor, in_groups: bool) -> Tensor:
    """Four heads of width one that share two keys and values, by the operation's own option or repeated by hand."""
    query, key = values.T[None, :, :, None], values.T[None, :2, :, None]
    if not in_groups:
        key = key.repeat_interleave(2, dim=1)
    return functional.scaled_dot_product_attention(query, key, key * 2, enable_gqa=in_groups)


@pytest.mark.parametrize("rule", ["cp", "attnlrp"])
def test_shared_keys_and_values_get_what_their_copies_get_together(rule: AttentionRule) -> None:
    found = []
    for in_groups in (True, False):
        model = Reading(partial(attended, in_groups=in_groups))
        with relevance_rules(model, {"values": VALUES}, rule) as passing:
            result = model(**passing.inputs)
        found.append((result.detach(), *torch.autograd.grad(result.sum(), passing.entered)))
    torch.testing.assert_close(*found)
    assert found[0][1].abs().sum() > 0


def to_words(head_model: HeadModel, inputs: Mapping[str, Tensor], rule: str = "cp") -> Tensor:
    with relevance_rules(head_model.model, inputs, rule) as passing:
        logits = head_model.model(**passing.inputs).logits
    start = (logits.amax(dim=-1) * inputs["attention_mask"]).sum()
    (gradient,) = torch.autograd.grad(start, passing.entered)
    return passing.entered[0].detach() * gradient


def traces_of(head_model: HeadModel) -> list[object]:
    model = head_model.model
    return [
        [list(module._forward_hooks) + list(module._forward_pre_hooks) for module in model.modules()],
        [(parameter.requires_grad, parameter.grad) for parameter in model.parameters()],
        [parameter.detach().clone().sum().item() for parameter in model.parameters()],
        model.config._attn_implementation,
        torch.overrides._get_current_function_mode_stack(),
        torch.is_grad_enabled(),
        functional.softmax,
        nn.LayerNorm.forward,
    ]


def test_nothing_is_left_behind_not_even_by_a_pass_that_breaks() -> None:
    head_model = lively("gpt2")
    inputs = padded_inputs(head_model.model)
    before = traces_of(head_model)
    to_words(head_model, inputs)
    assert traces_of(head_model) == before
    broken = head_model.model.transformer.h[1].mlp.register_forward_hook(lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError), torch.no_grad(), relevance_rules(head_model.model, inputs) as passing:
        head_model.model(**passing.inputs)
    broken.remove()
    assert traces_of(head_model) == before


def test_a_thread_without_rules_computes_its_own_gradients_meanwhile() -> None:
    head_model = lively("gpt2")
    inputs = padded_inputs(head_model.model)
    expected, ruled = plain_gradient(head_model, inputs), to_words(head_model, inputs)
    assert not torch.allclose(expected, ruled)
    found: list[Tensor] = []
    with relevance_rules(head_model.model, inputs) as passing:
        thread = threading.Thread(target=lambda: found.append(plain_gradient(head_model, inputs)))
        thread.start()
        logits = head_model.model(**passing.inputs).logits
        thread.join()
    torch.testing.assert_close(found, [expected])
    torch.testing.assert_close(of_pass(passing, logits, inputs), ruled)


def plain_gradient(head_model: HeadModel, inputs: Mapping[str, Tensor]) -> Tensor:
    """Input times gradient as it is without rules."""
    words = head_model.model.get_input_embeddings()(inputs["input_ids"]).detach().requires_grad_()
    rest = {name: value for name, value in inputs.items() if name != "input_ids"}
    logits = head_model.model(inputs_embeds=words, **rest).logits
    (gradient,) = torch.autograd.grad((logits.amax(dim=-1) * inputs["attention_mask"]).sum(), words)
    return words.detach() * gradient


def of_pass(passing: RelevancePass, logits: Tensor, inputs: Mapping[str, Tensor]) -> Tensor:
    (gradient,) = torch.autograd.grad((logits.amax(dim=-1) * inputs["attention_mask"]).sum(), passing.entered)
    return passing.entered[0].detach() * gradient
