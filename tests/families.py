"""Tiny random models of every family that the tests and docs/models.md cover."""

from __future__ import annotations

import random
from collections.abc import Callable
from copy import deepcopy
from functools import cache

import torch
import transformers as hf
from transformers import PreTrainedModel

from headscope.models.head_model import HeadModel
from headscope.models.heads import HeadGrid
from headscope.pruning.masks import HeadMask

TEXT = {"vocab_size": 60, "hidden_size": 32, "num_hidden_layers": 3, "num_attention_heads": 4, "intermediate_size": 48}
SPECIAL = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2}
GROUPED = TEXT | SPECIAL | {"num_key_value_heads": 2, "head_dim": 8, "max_position_embeddings": 64}
SEQ2SEQ = SPECIAL | {
    "vocab_size": 60,
    "d_model": 32,
    "encoder_layers": 3,
    "decoder_layers": 3,
    "encoder_attention_heads": 4,
    "decoder_attention_heads": 4,
    "encoder_ffn_dim": 48,
    "decoder_ffn_dim": 48,
    "max_position_embeddings": 64,
    "decoder_start_token_id": 0,
    "forced_eos_token_id": None,
}
WHISPER = SEQ2SEQ | {
    "num_mel_bins": 8,
    "max_source_positions": 12,
    "max_target_positions": 32,
    "begin_suppress_tokens": None,
}
VISION = {
    "hidden_size": 32,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "intermediate_size": 48,
    "image_size": 8,
    "patch_size": 4,
}
DISTILBERT = {"vocab_size": 60, "dim": 32, "n_layers": 3, "n_heads": 4, "hidden_dim": 48}
DEBERTA = TEXT | {
    "relative_attention": True,
    "pos_att_type": ["c2p", "p2c"],
    "position_buckets": 8,
    "max_relative_positions": 16,
}
T5 = {
    "vocab_size": 60,
    "d_model": 32,
    "d_kv": 8,
    "d_ff": 48,
    "num_layers": 3,
    "num_heads": 4,
    "decoder_start_token_id": 0,
}
GPT2 = {"vocab_size": 60, "n_embd": 32, "n_layer": 3, "n_head": 4, "n_positions": 64} | SPECIAL
OPT = {
    "vocab_size": 60,
    "hidden_size": 32,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "ffn_dim": 48,
    "max_position_embeddings": 64,
    "word_embed_proj_dim": 32,
}

STACKS = ("num_hidden_layers", "encoder_layers", "decoder_layers", "num_decoder_layers")
"""What the configurations call their numbers of layers."""

FAMILIES: dict[str, Callable[[], PreTrainedModel]] = {
    "bert": lambda: hf.BertForSequenceClassification(hf.BertConfig(**TEXT)),
    "distilbert": lambda: hf.DistilBertForSequenceClassification(hf.DistilBertConfig(**DISTILBERT)),
    "roberta": lambda: hf.RobertaForSequenceClassification(hf.RobertaConfig(**TEXT)),
    "albert": lambda: hf.AlbertForSequenceClassification(hf.AlbertConfig(**TEXT, embedding_size=16)),
    "electra": lambda: hf.ElectraForSequenceClassification(hf.ElectraConfig(**TEXT, embedding_size=16)),
    "deberta-v2": lambda: hf.DebertaV2ForSequenceClassification(hf.DebertaV2Config(**DEBERTA)),
    "modernbert": lambda: hf.ModernBertForSequenceClassification(
        hf.ModernBertConfig(**TEXT, **SPECIAL, cls_token_id=1, sep_token_id=2)
    ),
    "marian": lambda: hf.MarianMTModel(hf.MarianConfig(**SEQ2SEQ)),
    "bart": lambda: hf.BartForConditionalGeneration(hf.BartConfig(**SEQ2SEQ)),
    "m2m100": lambda: hf.M2M100ForConditionalGeneration(hf.M2M100Config(**SEQ2SEQ)),
    "t5": lambda: hf.T5ForConditionalGeneration(hf.T5Config(**T5)),
    "gpt2": lambda: hf.GPT2LMHeadModel(hf.GPT2Config(**GPT2)),
    "llama": lambda: hf.LlamaForCausalLM(hf.LlamaConfig(**GROUPED)),
    "mistral": lambda: hf.MistralForCausalLM(hf.MistralConfig(**GROUPED)),
    "qwen2": lambda: hf.Qwen2ForCausalLM(hf.Qwen2Config(**GROUPED)),
    "qwen3": lambda: hf.Qwen3ForCausalLM(hf.Qwen3Config(**GROUPED)),
    "gemma": lambda: hf.GemmaForCausalLM(hf.GemmaConfig(**GROUPED)),
    "gemma2": lambda: hf.Gemma2ForCausalLM(hf.Gemma2Config(**GROUPED)),
    "gemma3": lambda: hf.Gemma3ForCausalLM(hf.Gemma3TextConfig(**GROUPED)),
    "opt": lambda: hf.OPTForCausalLM(hf.OPTConfig(**OPT)),
    "pythia": lambda: hf.GPTNeoXForCausalLM(hf.GPTNeoXConfig(**TEXT)),
    "phi": lambda: hf.PhiForCausalLM(hf.PhiConfig(**TEXT)),
    "vit": lambda: hf.ViTForImageClassification(hf.ViTConfig(**VISION)),
    "deit": lambda: hf.DeiTForImageClassification(hf.DeiTConfig(**VISION)),
    "clip-vision": lambda: hf.CLIPVisionModelWithProjection(hf.CLIPVisionConfig(**VISION)),
    "whisper": lambda: hf.WhisperForConditionalGeneration(hf.WhisperConfig(**WHISPER)),
}


@cache
def family(name: str) -> HeadModel:
    """The tiny model of a family, with weights large enough that every head changes the output."""
    torch.manual_seed(0)
    return _with_large_weights(FAMILIES[name](), name)


def shallow(name: str, n_layers: int = 1) -> HeadModel:
    """The same with one layer of every kind in every stack, or a few more, for what takes long for every layer."""
    torch.manual_seed(0)
    config = deepcopy(family(name).model.config)
    kinds = getattr(config, "layer_types", None) or ["alike"]
    layers = n_layers + max(map(kinds.index, kinds))
    for stack in STACKS:
        if getattr(config, stack, None) is not None:
            setattr(config, stack, layers)
    if kinds != ["alike"]:
        config.layer_types = kinds[:layers]
    return _with_large_weights(type(family(name).model)(config), name)


def _with_large_weights(model: PreTrainedModel, name: str) -> HeadModel:
    with torch.no_grad():
        for path, parameter in model.named_parameters():
            if parameter.dim() > 1 and "embed_positions" not in path:  # fixed position tables are not saved
                parameter.normal_(std=0.25)
    return HeadModel.of(model.eval(), name=name)


def masks(grid: HeadGrid) -> dict[str, HeadMask]:
    """A random half, an uneven one, an empty first layer and an empty middle layer."""
    heads = list(grid)
    middle = min(1, max(head.layer for head in heads))
    uneven = [head for head in heads if (head.layer, head.head) in {(0, 0), (1, 1), (1, 2), (2, 3)}]
    picks = {
        "random": random.Random(0).sample(heads, len(heads) // 2),
        "uneven": uneven,
        "empty first layer": [head for head in heads if head.layer == 0],
        "empty middle layer": [head for head in heads if head.layer == middle],
    }
    return {name: HeadMask(grid, frozenset(picked)) for name, picked in picks.items()}
