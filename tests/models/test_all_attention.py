"""The all-attention model: proper, causal, and treated by discovery, gates and removal like any other."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import Tensor

from headscope.models.all_attention import AllAttentionConfig, AllAttentionForCausalLM
from headscope.models.gating import gated
from headscope.models.head_model import HeadModel
from headscope.models.heads import HeadId
from headscope.models.loading.loader import load
from headscope.models.recording.maps import attention_maps, summarise
from headscope.pruning.masks import HeadMask
from headscope.pruning.surgery import without_heads

KERNELS = ("eager", "sdpa")
MASKS = {
    "random": "decoder.0.1 decoder.1.0 decoder.1.3 decoder.2.2",
    "uneven": "decoder.0.0 decoder.0.1 decoder.0.2 decoder.2.3",
    "empty first layer": "decoder.0.0 decoder.0.1 decoder.0.2 decoder.0.3 decoder.1.2",
    "empty last layer": "decoder.2.0 decoder.2.1 decoder.2.2 decoder.2.3",
    "no head left": " ".join(f"decoder.{layer}.{head}" for layer in range(3) for head in range(4)),
}


def tiny(kernel: str = "eager") -> AllAttentionForCausalLM:
    """A random model whose heads matter."""
    torch.manual_seed(0)
    config = AllAttentionConfig(
        vocab_size=60,
        hidden_size=32,
        num_hidden_layers=3,
        num_attention_heads=4,
        n_persistent=5,
        max_position_embeddings=64,
        initializer_range=0.2,
        attn_implementation=kernel,
    )
    return AllAttentionForCausalLM(config).eval()


@pytest.fixture(scope="module")
def tokens() -> Tensor:
    return torch.randint(3, 60, (2, 9), generator=torch.Generator().manual_seed(1))


def logits(model: AllAttentionForCausalLM, tokens: Tensor) -> Tensor:
    with torch.no_grad():
        return model(input_ids=tokens).logits


def test_discovery_finds_every_head_as_a_decoder_head() -> None:
    assert HeadModel.of(tiny()).grid.describe() == "decoder 3 x 4"


@pytest.mark.parametrize("kernel", KERNELS)
def test_open_gates_leave_the_output_bit_identical_and_each_closed_gate_changes_it(kernel: str, tokens: Tensor) -> None:
    head_model = HeadModel.of(tiny(kernel))
    before = logits(head_model.model, tokens)
    with gated(head_model, torch.ones(12)):
        assert torch.equal(logits(head_model.model, tokens), before)
    for head in head_model.grid:
        with gated(head_model, HeadMask(head_model.grid).prune(head).as_gates()):
            assert (logits(head_model.model, tokens) - before).abs().max() > 1e-3


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("addresses", MASKS.values(), ids=MASKS.keys())
def test_the_smaller_model_computes_what_the_masked_one_computes(kernel: str, addresses: str, tokens: Tensor) -> None:
    head_model = HeadModel.of(tiny(kernel))
    mask = HeadMask.of(head_model.grid, addresses)
    with gated(head_model, mask.as_gates()):
        masked = logits(head_model.model, tokens)
    smaller = without_heads(head_model, mask).model
    torch.testing.assert_close(logits(smaller, tokens), masked, rtol=0, atol=1e-5)


def test_removing_a_head_removes_its_share_of_the_persistent_vectors() -> None:
    head_model = HeadModel.of(tiny())
    layer = head_model.model.model.layers[1].attention
    smaller = without_heads(head_model, HeadMask(head_model.grid).prune(HeadId("decoder", 1, 2)))
    left = smaller.model.model.layers[1].attention
    for name in ("persistent_keys", "persistent_values"):
        assert torch.equal(getattr(left, name), getattr(layer, name)[[0, 1, 3]])
    per_head = 3 * (32 * 8 + 8) + 32 * 8 + 2 * 5 * 8
    assert head_model.n_parameters - smaller.n_parameters == per_head


def test_a_layer_without_heads_has_no_persistent_vectors() -> None:
    head_model = HeadModel.of(tiny())
    smaller = without_heads(head_model, HeadMask.of(head_model.grid, MASKS["empty last layer"]))
    assert smaller.model.model.layers[2].attention.persistent_keys.shape == (0, 5, 8)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("addresses", ["", *MASKS.values()], ids=["whole", *MASKS.keys()])
def test_generation_with_the_cache_equals_generation_without(kernel: str, addresses: str, tokens: Tensor) -> None:
    head_model = HeadModel.of(tiny(kernel))
    model = without_heads(head_model, HeadMask.of(head_model.grid, addresses)).model
    options = {"max_new_tokens": 12, "do_sample": False, "eos_token_id": None, "pad_token_id": 0}
    mask = torch.ones_like(tokens)
    cached = model.generate(input_ids=tokens, attention_mask=mask, use_cache=True, **options)
    plain = model.generate(input_ids=tokens, attention_mask=mask, use_cache=False, **options)
    assert cached.shape == (2, 21)
    assert torch.equal(cached, plain)


@pytest.mark.parametrize("kernel", KERNELS)
def test_the_cached_logits_are_those_of_the_whole_text(kernel: str, tokens: Tensor) -> None:
    model = tiny(kernel)
    whole = logits(model, tokens)
    with torch.no_grad():
        first = model(input_ids=tokens[:, :4], use_cache=True)
        rest = model(input_ids=tokens[:, 4:], past_key_values=first.past_key_values)
    torch.testing.assert_close(torch.cat([first.logits, rest.logits], dim=1), whole, rtol=0, atol=1e-5)
    assert rest.past_key_values.get_seq_length() == 9, "persistent vectors must not be cached"


@pytest.mark.parametrize("kernel", KERNELS)
def test_a_later_token_never_changes_earlier_logits(kernel: str, tokens: Tensor) -> None:
    model = tiny(kernel)
    before = logits(model, tokens)
    for position in range(1, tokens.shape[1]):
        changed = tokens.clone()
        changed[:, position] = (changed[:, position] + 1 - 3) % 57 + 3
        after = logits(model, changed)
        torch.testing.assert_close(after[:, :position], before[:, :position], rtol=0, atol=1e-6)
        assert (after[:, position:] - before[:, position:]).abs().max() > 1e-3


@pytest.mark.parametrize("kernel", KERNELS)
def test_padding_on_the_left_changes_nothing(kernel: str, tokens: Tensor) -> None:
    model = tiny(kernel)
    padded = torch.cat([torch.zeros(2, 3, dtype=torch.long), tokens], dim=1)
    mask = (padded != 0).long()
    positions = (mask.cumsum(-1) - 1).clamp(min=0)
    with torch.no_grad():
        shifted = model(input_ids=padded, attention_mask=mask, position_ids=positions).logits[:, 3:]
    torch.testing.assert_close(shifted, logits(model, tokens), rtol=0, atol=1e-5)


def test_eager_and_sdpa_agree(tokens: Tensor) -> None:
    torch.testing.assert_close(logits(tiny("eager"), tokens), logits(tiny("sdpa"), tokens), rtol=0, atol=1e-5)


def test_attention_counts_the_persistent_keys_first_and_sums_to_one(tokens: Tensor) -> None:
    with torch.no_grad():
        attentions = tiny()(input_ids=tokens, output_attentions=True).attentions
    assert [attention.shape for attention in attentions] == [(2, 4, 9, 5 + 9)] * 3
    torch.testing.assert_close(attentions[0].sum(-1), torch.ones(2, 4, 9))
    assert (attentions[0][..., :5] > 0).all()
    assert (attentions[0][..., 5:].triu(1) == 0).all()


def test_the_loss_is_the_mean_of_the_next_tokens_cross_entropy(tokens: Tensor) -> None:
    model = tiny()
    loss = model(input_ids=tokens, labels=tokens).loss
    likelihood = logits(model, tokens)[:, :-1].log_softmax(-1).gather(-1, tokens[:, 1:, None])
    torch.testing.assert_close(loss.detach(), -likelihood.mean())


def test_every_parameter_gets_a_gradient(tokens: Tensor) -> None:
    model = tiny().train()
    model(input_ids=tokens, labels=tokens).loss.backward()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.isfinite().all(), name
        if not name.endswith("k_proj.bias"):
            assert parameter.grad.abs().sum() > 0, name


def test_saving_and_loading_gives_the_same_model(tmp_path: Path, tokens: Tensor) -> None:
    model = tiny()
    model.save_pretrained(tmp_path)
    again = load(tmp_path, device="cpu").model
    again.set_attn_implementation("eager")
    assert (tmp_path / "model.safetensors").exists()
    assert isinstance(again, AllAttentionForCausalLM)
    assert torch.equal(logits(again, tokens), logits(model, tokens))


def test_a_width_that_the_heads_do_not_divide_is_refused() -> None:
    with pytest.raises(ValueError, match="3 heads in a width of 32"):
        AllAttentionConfig(hidden_size=32, num_attention_heads=3)


def test_statistics_are_those_of_the_tokens_and_leave_the_persistent_keys_out(tokens: Tensor) -> None:
    head_model = HeadModel.of(tiny())
    inputs = {"input_ids": tokens[:1], "attention_mask": torch.ones(1, 9, dtype=torch.long)}
    found = summarise(head_model, [inputs])
    maps = attention_maps(head_model, inputs)
    for head in head_model.grid:
        of_tokens = maps[head.bank, head.layer][head.head][:, -9:]
        assert found[head].confidence == pytest.approx(of_tokens.amax(dim=-1).mean().item(), rel=1e-5)
