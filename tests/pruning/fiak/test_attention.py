from __future__ import annotations

import copy
from dataclasses import replace

import pytest
import torch
from torch import Tensor

from headscope.models.example_inputs import main_output
from headscope.models.head_model import HeadModel
from headscope.models.inputs import probe_inputs, sized_inputs
from headscope.models.recording.maps import attention_maps
from headscope.pruning.export.proof import attending
from headscope.pruning.fiak.layers import prior_layers
from headscope.pruning.fiak.priors import PACE, PriorAttention, priors_of, with_priors
from headscope.pruning.masks import HeadMask
from headscope.pruning.surgery import without_heads
from tests.families import FAMILIES, family
from tests.reference import fiak as reference

N = 7
COVERED = [name for name in FAMILIES if name != "deberta-v2"]
REFERENCES = {"dot": reference.dot_posterior, "distance": reference.posterior}


def exact(name: str) -> HeadModel:
    head_model = family(name)
    return replace(head_model, model=copy.deepcopy(head_model.model).double())


def scattered(head_model: HeadModel, seed: int = 0) -> HeadModel:
    """The same priors, moved at random: some are negative, some above one."""
    generator = torch.Generator().manual_seed(seed)
    for module in head_model.model.modules():
        if isinstance(module, PriorAttention):
            module.theta.data = torch.randn(module.theta.shape, generator=generator).double() * 2 / PACE
    return head_model


@pytest.mark.parametrize(("name", "prior"), [*((name, "pair") for name in COVERED), ("vit", "key"), ("gpt2", "key")])
def test_an_even_prior_changes_nothing(name: str, prior: str) -> None:
    head_model = exact(name)
    inputs = probe_inputs(head_model.model, batch=2)
    dense = main_output(head_model, inputs)
    even = with_priors(head_model, prior_layers(head_model, N), prior)
    assert (main_output(even, inputs) - dense).abs().max() < 1e-6 * dense.abs().max()


@pytest.mark.parametrize("prior", ["pair", "key"])
def test_a_prior_begins_at_one_over_the_root_of_the_length_and_moves_by_shares_of_it(prior: str) -> None:
    layers = prior_layers(exact("bert"), 16)
    given = with_priors(exact("bert"), layers, prior)
    assert all(torch.allclose(pi, torch.tensor(0.25, dtype=pi.dtype)) for pi in priors_of(given, layers).values())
    for module in given.model.modules():
        if isinstance(module, PriorAttention):
            module.theta.data.fill_(1 / PACE)
    assert all(torch.allclose(pi, torch.tensor(0.5, dtype=pi.dtype)) for pi in priors_of(given, layers).values())


@pytest.mark.parametrize("name", ["bert", "gpt2", "llama", "vit", "t5", "pythia"])
def test_other_priors_change_something_under_eager_as_under_sdpa(name: str) -> None:
    head_model = exact(name)
    inputs = probe_inputs(head_model.model, batch=2)
    moved = scattered(with_priors(head_model, prior_layers(head_model, N)))
    dense = main_output(head_model, inputs)
    found = []
    for implementation in ("eager", "sdpa"):
        with attending(moved.model, implementation):
            found.append(main_output(moved, inputs))
    torch.testing.assert_close(found[0], found[1], rtol=1e-4, atol=1e-5)  # eager softmax is in single precision
    assert (found[0] - dense).abs().max() > 1e-2 * dense.abs().max()


@pytest.mark.parametrize("form", ["dot", "distance"])
@pytest.mark.parametrize("prior", ["pair", "key"])
@pytest.mark.parametrize("name", ["vit", "gpt2"])
def test_attention_is_the_posterior_of_the_mixture(name: str, prior: str, form: str) -> None:
    head_model = exact(name)
    layers = prior_layers(head_model, N)
    moved = scattered(with_priors(head_model, layers, prior, form))
    layer = layers[0]
    inputs = sized_inputs(head_model.model, 1, N)
    found = attention_maps(moved, inputs)[layer.bank, 0]
    query, key = projected(moved, layer.core, inputs)
    pi = priors_of(moved, layers)[layer.name].abs().clamp(1e-6, 1)
    for head in range(len(layer.heads)):
        expected = REFERENCES[form](query[head], key[head], for_each_query(pi[head], query), layer.causal)
        torch.testing.assert_close(found[head], expected)


@pytest.mark.parametrize("form", ["dot", "distance"])
@pytest.mark.parametrize("prior", ["pair", "key"])
@pytest.mark.parametrize("name", ["vit", "gpt2"])
def test_gradients_are_those_of_the_posterior(name: str, prior: str, form: str) -> None:
    head_model = exact(name)
    layers = prior_layers(head_model, N)
    moved = scattered(with_priors(head_model, layers, prior, form))
    layer = layers[0]
    core = moved.model.get_submodule(layer.core)
    context, query, key, value = heard(moved, layer.core, sized_inputs(head_model.model, 1, N))
    weights = torch.randn(context.shape, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    ours = torch.autograd.grad((context * weights).sum(), [core.fiak.theta, query, key, value])
    theta = core.fiak.theta.detach().clone().requires_grad_()
    leaves = [theta, *(part.detach().clone().requires_grad_() for part in (query, key, value))]
    pi = ((1 + PACE * leaves[0]) * layer.length**-0.5).abs().clamp(1e-6, 1)
    heads = [
        REFERENCES[form](leaves[1][0, head], leaves[2][0, head], for_each_query(pi[head], leaves[1][0]), layer.causal)
        @ leaves[3][0, head]
        for head in range(len(layer.heads))
    ]
    literal = torch.stack(heads, dim=1)[None]
    torch.testing.assert_close(context, literal)
    for mine, theirs in zip(ours, torch.autograd.grad((literal * weights).sum(), leaves), strict=True):
        assert mine.abs().max() > 0
        torch.testing.assert_close(mine, theirs)


def test_a_causal_model_sees_nothing_of_what_comes_later() -> None:
    head_model = exact("gpt2")
    moved = scattered(with_priors(head_model, prior_layers(head_model, N)))
    inputs = sized_inputs(head_model.model, 1, N)
    other = inputs["input_ids"].clone()
    other[:, -2:] = 17
    before, after = main_output(moved, inputs), main_output(moved, {"input_ids": other})
    torch.testing.assert_close(before[:, :-2], after[:, :-2])
    assert (before[:, -1] - after[:, -1]).abs().max() > 1e-3


def test_a_shorter_input_has_the_leading_block_and_padding_is_not_seen() -> None:
    head_model = exact("bert")
    moved = scattered(with_priors(head_model, prior_layers(head_model, N)))
    tokens = sized_inputs(head_model.model, 1, 4)["input_ids"]
    padded = {
        "input_ids": torch.nn.functional.pad(tokens, (0, 3), value=5),
        "attention_mask": torch.tensor([[1, 1, 1, 1, 0, 0, 0]]),
    }
    torch.testing.assert_close(main_output(moved, {"input_ids": tokens}), main_output(moved, padded))


def test_a_longer_input_is_refused_in_one_sentence() -> None:
    head_model = exact("bert")
    moved = with_priors(head_model, prior_layers(head_model, N))
    with pytest.raises(ValueError, match="an input of 8 tokens; these priors are for at most 7"):
        main_output(moved, sized_inputs(head_model.model, 1, 8))


def test_a_cache_gives_what_one_pass_gives() -> None:
    head_model = exact("llama")
    moved = scattered(with_priors(head_model, prior_layers(head_model, N)))
    tokens = sized_inputs(head_model.model, 1, N)["input_ids"]
    with torch.no_grad():
        whole = moved.model(input_ids=tokens).logits
        begun = moved.model(input_ids=tokens[:, :5], use_cache=True)
        rest = moved.model(input_ids=tokens[:, 5:], past_key_values=begun.past_key_values).logits
    torch.testing.assert_close(torch.cat([begun.logits, rest], dim=1), whole)


def test_keys_of_the_layer_itself_keep_the_initial_prior() -> None:
    from headscope.models.all_attention import AllAttentionConfig, AllAttentionForCausalLM

    torch.manual_seed(0)
    config = AllAttentionConfig(
        vocab_size=60, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, n_persistent=5, initializer_range=0.3
    )
    head_model = HeadModel.of(AllAttentionForCausalLM(config).double().eval())
    layers = prior_layers(head_model, N)
    assert {(layer.length, layer.front) for layer in layers} == {(N, 5)}
    inputs = sized_inputs(head_model.model, 1, N)
    dense = main_output(head_model, inputs)
    even = with_priors(head_model, layers)
    torch.testing.assert_close(main_output(even, inputs), dense)
    assert (main_output(scattered(even), inputs) - dense).abs().max() > 1e-3


@pytest.mark.parametrize("name", ["llama", "t5", "gpt2"])
def test_a_model_that_lost_heads_can_have_priors(name: str) -> None:
    head_model = exact(name)
    first = [str(head) for head in head_model.grid if (head.layer, head.head) in {(0, 0), (0, 1), (0, 2), (1, 3)}]
    smaller = without_heads(head_model, HeadMask.of(head_model.grid, first))
    inputs = probe_inputs(smaller.model, batch=2)
    dense = main_output(smaller, inputs)
    even = with_priors(smaller, prior_layers(smaller, N))
    torch.testing.assert_close(main_output(even, inputs), dense)
    assert (main_output(scattered(even), inputs) - dense).abs().max() > 1e-3


def test_the_model_that_was_given_stays_as_it_is() -> None:
    head_model = exact("vit")
    before = {name: tensor.clone() for name, tensor in head_model.model.state_dict().items()}
    inputs = probe_inputs(head_model.model)
    dense = main_output(head_model, inputs)
    scattered(with_priors(head_model, prior_layers(head_model)))
    assert set(before) == set(head_model.model.state_dict())
    torch.testing.assert_close(main_output(head_model, inputs), dense, rtol=0, atol=0)


def test_attention_outside_the_interface_is_refused_in_one_sentence() -> None:
    with pytest.raises(ValueError, match=r"no priors for deberta.encoder.layer.0.attention.self \(Disentangled"):
        prior_layers(family("deberta-v2"), N)


@pytest.mark.parametrize(
    ("prior", "form", "message"), [("all", "dot", "no prior 'all'"), ("key", "l2", "no form 'l2'")]
)
def test_unknown_priors_and_forms_are_refused(prior: str, form: str, message: str) -> None:
    head_model = exact("vit")
    with pytest.raises(ValueError, match=message):
        with_priors(head_model, prior_layers(head_model), prior, form)


def for_each_query(pi: Tensor, query: Tensor) -> Tensor:
    """pi_ij of a head as the mixture over keys alone has it: pi_j for every query i; that of pairs stays as it is."""
    return pi if len(pi) > 1 else torch.stack([pi[0] for _ in range(query.shape[-2])])


def heard(head_model: HeadModel, core: str, inputs: dict[str, Tensor]) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """What the attention of a layer gave for one example, and its queries, keys and values, all in one graph."""
    found: list[Tensor] = []
    rule = head_model.model.get_submodule(core).fiak
    attend = rule.attend

    def listen(call):  # type: ignore[no-untyped-def]
        leaves = [part.detach().clone().requires_grad_() for part in (call.query, call.key, call.value)]
        output = attend(replace(call, query=leaves[0], key=leaves[1], value=leaves[2]))
        found[:] = [output[0], *leaves]
        return output

    rule.attend = listen
    head_model.model(**inputs)
    del rule.attend
    return found[0], found[1], found[2], found[3]


def projected(head_model: HeadModel, core: str, inputs: dict[str, Tensor]) -> tuple[Tensor, Tensor]:
    """Queries and keys of one example in a layer, [head, position, d_head]."""
    _, query, key, _ = heard(head_model, core, inputs)
    return query[0].detach(), key[0].detach()
