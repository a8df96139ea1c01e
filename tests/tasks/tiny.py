"""Tiny models with tokenizers, in double precision, whose heads matter."""

from __future__ import annotations

import torch
import transformers as hf
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace
from tokenizers.processors import TemplateProcessing
from transformers import PreTrainedModel, PreTrainedTokenizerFast

from headscope.models.head_model import HeadModel
from tests.families import FAMILIES, TEXT

SPECIAL = {"pad_token": "<pad>", "bos_token": "<s>", "eos_token": "</s>", "mask_token": "<mask>", "unk_token": "<unk>"}
WORDS = [f"w{number}" for number in range(60 - len(SPECIAL))]
SENTENCES = ["w1 w2 w3", "w4 w5 w6 w7 w8 w9", "w2", "w9 w8 w7 w6", "w3 w3 w1 w5 w7", "w10 w11 w12 w13 w14 w15 w16"] * 4
TEXTS = [f"{sentence} w{20 + number}" for number, sentence in enumerate(SENTENCES)]
"""Two dozen texts of seven lengths, all different."""


def tokenizer(pattern: str = "$A </s>") -> PreTrainedTokenizerFast:
    """One token a word; `pattern` says which special tokens are put around a text."""
    vocabulary = {word: number for number, word in enumerate([*SPECIAL.values(), *WORDS])}
    plain = Tokenizer(WordLevel(vocabulary, unk_token="<unk>"))
    plain.pre_tokenizer = Whitespace()
    ends = [(token, vocabulary[token]) for token in SPECIAL.values()]
    plain.post_processor = TemplateProcessing(single=pattern, pair=f"{pattern} $B:1 </s>:1", special_tokens=ends)
    return PreTrainedTokenizerFast(tokenizer_object=plain, **SPECIAL)


def tiny(family: str, pattern: str = "$A </s>") -> HeadModel:
    """A random model of a family, with weights so large that heads matter."""
    return sharpened(FAMILIES[family], tokenizer(pattern))


def filler() -> HeadModel:
    """A random model that fills gaps."""
    return sharpened(lambda: hf.BertForMaskedLM(hf.BertConfig(**TEXT)), tokenizer("<s> $A </s>"))


def sharpened(make, own_tokenizer=None) -> HeadModel:  # type: ignore[no-untyped-def]
    torch.manual_seed(0)
    model: PreTrainedModel = make().double().eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if parameter.dim() > 1 and "norm" not in name.lower():
                parameter.mul_(5)
    return HeadModel.of(model, own_tokenizer)


def closed(head_model: HeadModel) -> torch.Tensor:
    """Gates that shut every head."""
    return torch.zeros(len(head_model.grid), dtype=torch.float64)


def opened(head_model: HeadModel) -> torch.Tensor:
    """Gates that change nothing."""
    return torch.ones(len(head_model.grid), dtype=torch.float64)
