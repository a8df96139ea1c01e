"""Tiny models with uneven attention, and the maps that eager attention itself returns for them."""

from collections import defaultdict
from collections.abc import Mapping
from functools import cache

import torch
import transformers as hf
from torch import Tensor, nn
from transformers import PreTrainedModel

from headscope.models.head_model import HeadModel
from headscope.models.inputs import probe_inputs
from headscope.models.recording.maps import watching
from headscope.models.sites import Site
from tests.families import FAMILIES, GROUPED

VARIANTS = {
    "mistral, window of 3": lambda: hf.MistralForCausalLM(hf.MistralConfig(**GROUPED, sliding_window=3)),
    "gemma2, window of 3 and soft cap": lambda: hf.Gemma2ForCausalLM(
        hf.Gemma2Config(**GROUPED, sliding_window=3, attn_logit_softcapping=1.0)
    ),
    "gpt2, scaled by layer": lambda: hf.GPT2LMHeadModel(
        hf.GPT2Config(
            vocab_size=60, n_embd=32, n_layer=2, n_head=4, n_positions=64, scale_attn_by_inverse_layer_idx=True
        )
    ),
}
MODELS = FAMILIES | VARIANTS
EAGER_ONLY = {"deberta-v2", "gemma2", "gemma2, window of 3 and soft cap"}
SETTINGS = [(name, "eager") for name in MODELS] + [(name, "sdpa") for name in MODELS if name not in EAGER_ONLY]
PADDING = 0

Layer = tuple[str, int]
Maps = dict[Layer, list[Tensor]]


@cache
def lively(name: str) -> HeadModel:
    """A model in double precision whose weights are large enough to make attention uneven."""
    torch.manual_seed(0)
    return lively_model(MODELS[name]())


def lively_model(model: PreTrainedModel) -> HeadModel:
    for parameter in model.parameters():
        if parameter.dim() > 1:
            nn.init.normal_(parameter, std=0.25)
    return HeadModel.of(model.double())


def set_to(head_model: HeadModel, setting: str) -> HeadModel:
    if head_model.model.config._attn_implementation != setting:
        head_model.model.set_attn_implementation(setting)
    return head_model


def padded_inputs(model: PreTrainedModel, batch: int = 3, side: str = "right") -> dict[str, Tensor]:
    """Examples of different length, padded on one side; images and sound as they are."""
    inputs = probe_inputs(model, batch)
    for name, mask_name in (("input_ids", "attention_mask"), ("decoder_input_ids", "decoder_attention_mask")):
        if name in inputs:
            length = inputs[name].shape[1]
            places = torch.arange(length) if side == "right" else torch.arange(length).flip(0)
            mask = (places < length - torch.arange(batch)[:, None]).long()
            inputs |= {mask_name: mask, name: inputs[name] * mask + PADDING * (1 - mask)}
    return inputs


@torch.no_grad()
def captured(head_model: HeadModel, inputs: Mapping[str, Tensor]) -> tuple[Maps, Tensor]:
    """All maps by layer, one for every call, and what the model gave meanwhile."""
    parts: dict[Layer, list[list[Tensor]]] = defaultdict(list)

    def keep(site: Site, attention: Tensor, first_query: int) -> None:
        calls = parts[site.bank, site.layer]
        if first_query == 0:
            calls.append([])
        assert first_query == sum(part.shape[2] for part in calls[-1])
        assert attention.shape[1] == len(site.kept)
        calls[-1].append(attention)

    with watching(head_model, keep):
        outputs = head_model.model(**inputs)[0]
    return {layer: [torch.cat(call, dim=2) for call in calls] for layer, calls in parts.items()}, outputs


@torch.no_grad()
def reference(head_model: HeadModel, inputs: Mapping[str, Tensor]) -> Maps:
    """What the model itself says under eager attention."""
    outputs = set_to(head_model, "eager").model(**inputs, output_attentions=True)
    if head_model.model.config.is_encoder_decoder:
        banks = {bank: outputs[f"{bank}_attentions"] for bank in ("encoder", "decoder", "cross")}
    else:
        banks = {head_model.sites[0].bank: outputs.attentions}
    maps: Maps = {}
    for bank, layers in banks.items():
        found = iter(layers)
        for layer, heads in enumerate(head_model.grid.bank(bank).layers):
            maps[bank, layer] = [next(found) for _ in range(heads.calls)]
    return maps


def assert_same_maps(maps: Maps, expected: Maps, inputs: Mapping[str, Tensor]) -> None:
    assert maps.keys() == expected.keys()
    for (bank, layer), calls in maps.items():
        name = "decoder_attention_mask" if "decoder_input_ids" in inputs and bank != "encoder" else "attention_mask"
        for found, wanted in zip(calls, expected[bank, layer], strict=True):
            rows = inputs[name].bool() if name in inputs else torch.ones(found.shape[0], found.shape[2]).bool()
            torch.testing.assert_close(
                found.transpose(1, 2)[rows], wanted.transpose(1, 2)[rows], atol=1e-5, rtol=0, check_dtype=False
            )


def assert_same_outputs(outputs: Tensor, expected: Tensor, inputs: Mapping[str, Tensor]) -> None:
    valid = inputs.get("decoder_attention_mask", inputs.get("attention_mask"))
    if valid is not None and outputs.dim() == 3:
        outputs, expected = outputs[valid.bool()], expected[valid.bool()]
    torch.testing.assert_close(outputs, expected, atol=1e-5, rtol=1e-5)


def settings_of(model: PreTrainedModel) -> list[str]:
    configs = [getattr(module, "config", None) for module in model.modules()]
    return [config._attn_implementation for config in configs if config is not None]
