from __future__ import annotations

import pytest
import torch
import transformers as hf
from torch import nn

from headscope.models.discovery import discover
from headscope.models.head_model import HeadModel
from headscope.models.sites import Site
from tests.families import FAMILIES, family

SEQ2SEQ = {"marian", "bart", "m2m100", "t5", "whisper"}
CAUSAL = {"gpt2", "llama", "mistral", "qwen2", "qwen3", "gemma", "gemma2", "gemma3", "opt", "pythia", "phi"}


def expected_layers(name: str) -> dict[str, int]:
    if name in SEQ2SEQ:
        return {"encoder": 3, "decoder": 3, "cross": 3}
    return {"decoder": 3} if name in CAUSAL else {"encoder": 1 if name == "albert" else 3}


@pytest.mark.parametrize("name", FAMILIES)
def test_every_bank_is_found_with_all_its_heads(name: str) -> None:
    head_model = family(name)
    assert {bank.bank: len(bank.layers) for bank in head_model.grid.banks} == expected_layers(name)
    assert {layer.n_heads for bank in head_model.grid.banks for layer in bank.layers} == {4}
    assert head_model.missed == ()


def test_grouped_queries_share_key_value_heads() -> None:
    assert family("llama").grid.bank("decoder").layers[0].groups == (0, 0, 1, 1)
    assert family("gpt2").grid.bank("decoder").layers[0].groups == (0, 1, 2, 3)


def test_a_layer_whose_weights_are_shared_is_one_row_that_runs_several_times() -> None:
    (layer,) = family("albert").grid.bank("encoder").layers
    assert layer.calls == 3


def test_fused_projections_give_each_head_its_own_rows() -> None:
    site = family("gpt2").sites[0]
    (owner,) = site.owners.values()
    heads = owner.view(4, 3, 4, 8)  # head, query/key/value, head of the row, row
    assert heads.sum().item() == 3 * 4 * 8
    assert all(heads[head, :, head].all() for head in range(4))


def test_interleaved_projections_give_each_head_its_own_rows() -> None:
    site = family("pythia").sites[0]
    (owner,) = site.owners.values()
    assert torch.equal(owner.view(4, 4, 24), torch.eye(4).bool()[:, :, None].expand(4, 4, 24))


def test_a_bert_decoder_with_cross_attention_has_two_banks() -> None:
    config = hf.BertConfig(
        vocab_size=60, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=48,
        is_decoder=True, add_cross_attention=True,
    )  # fmt: skip
    grid = HeadModel.of(hf.BertLMHeadModel(config)).grid
    assert grid.describe() == "decoder 2 x 4, cross 2 x 4"


def test_a_model_of_which_only_part_is_understood_names_the_rest() -> None:
    model = FAMILIES["bert"]()
    model.bert.encoder.layer[1].attention.self.attention_head_size = 7  # fits no width: not understood
    del model.bert.encoder.layer[1].attention.self.all_head_size
    original = type(model.bert.encoder.layer[1].attention.self).forward

    def forward(self: nn.Module, hidden_states: torch.Tensor, **options: object) -> object:
        self.attention_head_size = 8
        try:
            return original(self, hidden_states, **options)
        finally:
            self.attention_head_size = 7

    model.bert.encoder.layer[1].attention.self.forward = forward.__get__(model.bert.encoder.layer[1].attention.self)
    found = discover(model)
    assert len(found.sites) == 2
    assert found.missed == ("bert.encoder.layer.1.attention",)


def test_a_model_in_which_nothing_is_found_says_what_looks_like_attention() -> None:
    config = hf.XLNetConfig(vocab_size=60, d_model=32, n_layer=1, n_head=4, d_inner=48)
    with pytest.raises(ValueError, match=r"no attention heads found in XLNetModel; .*transformer\.layer\.0|layer\.0"):
        HeadModel.of(hf.XLNetModel(config))


def test_discovery_leaves_no_trace() -> None:
    model = FAMILIES["bert"]().train()
    model.bert.pooler.eval()
    before = {name: value.clone() for name, value in model.state_dict().items()}
    discover(model)
    assert all(torch.equal(before[name], value) for name, value in model.state_dict().items())
    assert all(parameter.grad is None for parameter in model.parameters())
    assert not any(module._forward_hooks or module._forward_pre_hooks for module in model.modules())
    assert model.training and not model.bert.pooler.training


def test_a_site_survives_being_written_as_json() -> None:
    for site in (*family("llama").sites, *family("gpt2").sites, *family("deberta-v2").sites):
        again = Site.from_json(site.to_json())
        assert again == site
        assert again.owners.keys() == site.owners.keys()
        assert all(torch.equal(again.owners[path], owner) for path, owner in site.owners.items())


def test_a_dead_head_and_a_saturated_softmax_hide_nothing() -> None:
    model = FAMILIES["bert"]()
    attention = model.bert.encoder.layer[1].attention.self
    with torch.no_grad():
        attention.value.weight[8:16] = 0
        attention.value.bias[8:16] = 0
        for layer in model.bert.encoder.layer:
            layer.attention.self.query.weight *= 1000
            layer.attention.self.key.weight *= 1000
    dead = discover(model)
    for site, expected in zip(dead.sites, family("bert").sites, strict=True):
        assert site == expected
        assert all(torch.equal(site.owners[path], owner) for path, owner in expected.owners.items())


def test_a_model_that_does_not_run_on_a_plain_input_says_so() -> None:
    text = hf.CLIPTextConfig(vocab_size=60, hidden_size=32, num_hidden_layers=1, num_attention_heads=4)
    vision = hf.CLIPVisionConfig(hidden_size=32, num_hidden_layers=1, num_attention_heads=4, image_size=8, patch_size=4)
    model = hf.CLIPModel(hf.CLIPConfig(text_config=text.to_dict(), vision_config=vision.to_dict()))
    with pytest.raises(ValueError, match="CLIPModel does not run on a plain input"):
        discover(model)
