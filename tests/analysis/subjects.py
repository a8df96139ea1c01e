"""A tiny model of every kind in double precision, with the task that its heads are scored on."""

from __future__ import annotations

from functools import cache

import transformers as hf

from headscope.models.all_attention import AllAttentionConfig, AllAttentionForCausalLM
from headscope.models.head_model import HeadModel
from headscope.tasks.classification import Classification, LabelledText
from headscope.tasks.fidelity import Fidelity
from headscope.tasks.language_modelling import LanguageModelling
from headscope.tasks.task import Splits, Task
from headscope.tasks.translation import TextPair, Translation
from headscope.tasks.vision import Digits
from tests.families import TEXT, VISION
from tests.tasks.sounds import listener, spoken
from tests.tasks.tiny import TEXTS, sharpened, tiny, tokenizer

KINDS = ("encoder", "shared", "decoder", "grouped", "all-attention", "seq2seq", "vision")
WITHOUT_TEXT_HEAD = ("features", "hidden", "sound")
"""Kinds that only importance is asked of: a model of features, one of hidden states, and one that listens."""

N = 4
"""Examples that are enough for a fact."""

LABELLED = [LabelledText(text, str(number % 2)) for number, text in enumerate(TEXTS)]
PAIRS = [TextPair(source, target) for source, target in zip(TEXTS, reversed(TEXTS), strict=True)]
CLASSIFICATION = Classification("labels", "labels", Splits.of(LABELLED, LABELLED, LABELLED))
WRITING = LanguageModelling("texts", "texts", Splits.of(TEXTS, TEXTS, TEXTS))
TRANSLATION = Translation("pairs", "pairs", Splits.of(PAIRS, PAIRS, PAIRS))


@cache
def subject(kind: str) -> tuple[HeadModel, Task]:
    """One of KINDS or WITHOUT_TEXT_HEAD; the model is shared, so whoever changes it must change it back."""
    return fresh(kind)


def fresh(kind: str) -> tuple[HeadModel, Task]:
    """The same for whoever wants to change the model."""
    if kind in ("encoder", "shared"):  # the latter runs its one layer three times
        return tiny({"encoder": "bert", "shared": "albert"}[kind], "<s> $A </s>"), CLASSIFICATION
    if kind == "seq2seq":
        return tiny("marian"), TRANSLATION
    if kind == "vision":
        return _looker(), Digits("digits", "digits")
    if kind == "features":
        looker = tiny("clip-vision")
        return looker, Fidelity("features", "features", looker)
    if kind == "hidden":
        reader = sharpened(lambda: hf.BertModel(hf.BertConfig(**TEXT)), tokenizer("<s> $A </s>"))
        return reader, Fidelity("hidden", "hidden", reader, Splits.of(TEXTS, TEXTS, TEXTS))
    if kind == "sound":
        return listener(), spoken()
    if kind == "all-attention":
        return _all_attention(), WRITING
    return tiny({"decoder": "gpt2", "grouped": "llama"}[kind]), WRITING


def _looker() -> HeadModel:
    names = {number: str(number) for number in range(10)}
    config = hf.ViTConfig(**VISION, num_channels=1, id2label=names)
    return sharpened(lambda: hf.ViTForImageClassification(config))


def _all_attention() -> HeadModel:
    config = AllAttentionConfig(
        vocab_size=60,
        hidden_size=32,
        num_hidden_layers=3,
        num_attention_heads=4,
        n_persistent=5,
        max_position_embeddings=64,
    )
    return sharpened(lambda: AllAttentionForCausalLM(config), tokenizer())
