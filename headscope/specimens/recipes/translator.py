"""A Marian model that translates the grammar's English into its German."""

from __future__ import annotations

from itertools import islice
from typing import Any

from torch import Tensor
from torch.nn import functional
from transformers import MarianConfig, MarianMTModel, PreTrainedModel, PreTrainedTokenizerFast

from headscope.specimens.length_batches import by_length, padded, shuffled
from headscope.specimens.recipe import Batch, Recipe, Schedule, register
from headscope.specimens.story_recipe import EOS, PAD, byte_pairs
from headscope.tasks.grammar import Sentence, sentences

PIECES = 1000
ROUND = 8192
BUDGET = 1024
Pair = tuple[list[int], list[int]]


@register
class Translator(Recipe):
    """Six encoder layers, two decoder layers: the encoder has to do the work."""

    name = "translator"
    title = "Marian, 6 encoder and 2 decoder layers of 8 heads, English to German"
    data = "Sentences of the bilingual grammar, made anew in every round; none is seen twice on purpose."
    architecture = MarianMTModel
    schedule = Schedule(steps=15000, peak=1e-3, warm_up=300)

    def processor(self) -> PreTrainedTokenizerFast:
        """One vocabulary for both languages."""
        texts = (text for pair in islice(sentences(1, "train"), 20_000) for text in (pair.english, pair.german_text))
        return byte_pairs(texts, PIECES, "$A </s>", ["input_ids", "attention_mask"])

    def config(self, processor: Any) -> MarianConfig:
        """Embeddings shared by both languages."""
        return MarianConfig(
            vocab_size=len(processor),
            d_model=192,
            encoder_layers=6,
            decoder_layers=2,
            encoder_attention_heads=8,
            decoder_attention_heads=8,
            encoder_ffn_dim=256,
            decoder_ffn_dim=256,
            max_position_embeddings=128,
            dropout=0.0,
            activation_function="relu",
            scale_embedding=True,
            share_encoder_decoder_embeddings=True,
            pad_token_id=PAD,
            eos_token_id=EOS,
            bos_token_id=None,
            decoder_start_token_id=PAD,
            forced_eos_token_id=None,
        )

    def training_round(self, processor: Any, seed: int, number: int) -> list[Batch]:
        """New sentences, in batches of one source length."""
        pairs = list(islice(sentences(1000 * seed + 10 + number, "train"), ROUND))
        batches = by_length(_tokens(processor, pairs), lambda pair: (len(pair[0]), len(pair[1])), BUDGET)
        return [_batch(batch) for batch in shuffled(batches, seed, number)]

    def losses(self, model: PreTrainedModel, batch: Batch) -> tuple[Tensor, Tensor]:
        """Cross-entropy of the German pieces."""
        targets = batch["labels"]
        logits = model(input_ids=batch["input_ids"], decoder_input_ids=batch["decoder_input_ids"]).logits
        each = functional.cross_entropy(logits.transpose(1, 2), targets, ignore_index=PAD, reduction="none")
        return each.sum(-1), (targets != PAD).sum(-1)


def _tokens(processor: Any, pairs: list[Sentence]) -> list[Pair]:
    english = processor([pair.english for pair in pairs], return_attention_mask=False)["input_ids"]
    german = processor([pair.german_text for pair in pairs], return_attention_mask=False)["input_ids"]
    return list(zip(english, german, strict=True))


def _batch(pairs: list[Pair]) -> Batch:
    targets = padded([german for _, german in pairs], PAD)
    return {
        "input_ids": padded([english for english, _ in pairs], PAD),
        "decoder_input_ids": functional.pad(targets, (1, -1), value=PAD),
        "labels": targets,
    }
