"""A BERT that tells whether a second sentence follows from a first, contradicts it, or neither."""

from __future__ import annotations

from itertools import islice
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional
from transformers import BertConfig, BertForSequenceClassification, PreTrainedModel, PreTrainedTokenizerFast

from headscope.specimens.length_batches import by_length, padded, shuffled
from headscope.specimens.recipe import Batch, Recipe, Schedule, register
from headscope.specimens.story_recipe import BOS, EOS, PAD, UNK, byte_pairs
from headscope.tasks.grammar import inference_pairs

LABELS = ("entailment", "neutral", "contradiction")
PIECES = 2000
ROUND = 8192
BUDGET = 1536
MASKED = 0.2
"""Share of the pieces that are masked, in the batches that have masks."""


@register
class Reader(Recipe):
    """Six layers of eight heads over premise and hypothesis."""

    name = "reader"
    title = "BERT, 6 x 8 heads, natural language inference"
    data = (
        "Inference pairs of the grammar, made anew in every round, the three labels equally likely. "
        "Every other batch taught to fill in masked pieces instead of the label."
    )
    schedule = Schedule(steps=22000, peak=1e-3, warm_up=300)
    architecture = BertForSequenceClassification

    def processor(self) -> PreTrainedTokenizerFast:
        """Two texts become `<s> premise </s> hypothesis </s>`."""
        pairs = islice(inference_pairs(1, "train"), 20_000)
        texts = (text for pair in pairs for text in (pair.premise.english, pair.hypothesis.english))
        tokenizer = byte_pairs(texts, PIECES, "<s> $A </s>", ["input_ids", "token_type_ids", "attention_mask"])
        tokenizer.cls_token, tokenizer.sep_token = tokenizer.bos_token, tokenizer.eos_token
        return tokenizer

    def config(self, processor: Any) -> BertConfig:
        """Narrow and without dropout."""
        return BertConfig(
            vocab_size=len(processor),
            hidden_size=96,
            num_hidden_layers=6,
            num_attention_heads=8,
            intermediate_size=192,
            max_position_embeddings=128,
            hidden_dropout_prob=0.0,
            attention_probs_dropout_prob=0.0,
            id2label=dict(enumerate(LABELS)),
            label2id={label: number for number, label in enumerate(LABELS)},
            initializer_range=0.08,
            pad_token_id=PAD,
            bos_token_id=BOS,
            eos_token_id=EOS,
        )

    def training_round(self, processor: Any, seed: int, number: int) -> list[Batch]:
        """New pairs, in batches of one length."""
        pairs = list(islice(inference_pairs(1000 * seed + 10 + number, "train"), ROUND))
        encoded = processor([one.premise.english for one in pairs], [one.hypothesis.english for one in pairs])
        labels = [LABELS.index(one.label) for one in pairs]
        rows = list(zip(encoded["input_ids"], encoded["token_type_ids"], labels, strict=True))
        batches = shuffled(by_length(rows, lambda row: (len(row[0]),), BUDGET), seed, number)
        generator = torch.Generator().manual_seed(1_000_003 * seed + number)
        return [_batch(batch, place % 2 == 1, generator) for place, batch in enumerate(batches)]

    def losses(self, model: PreTrainedModel, batch: Batch) -> tuple[Tensor, Tensor]:
        """Cross-entropy of the label; in every other batch that of masked pieces, which teaches to align the texts."""
        if "masked" in batch:
            return _masked_losses(model, batch)
        logits = model(input_ids=batch["input_ids"], token_type_ids=batch["token_type_ids"]).logits
        sums = functional.cross_entropy(logits, batch["labels"], reduction="none")
        return sums, torch.ones_like(sums)


def _batch(rows: list[tuple[list[int], list[int], int]], masked: bool, generator: torch.Generator) -> Batch:
    batch = {
        "input_ids": padded([tokens for tokens, _, _ in rows], PAD),
        "token_type_ids": padded([types for _, types, _ in rows], 0),
        "labels": torch.tensor([label for _, _, label in rows]),
    }
    if masked:
        tokens = batch["input_ids"]
        batch["masked"] = (torch.rand(tokens.shape, generator=generator) < MASKED) & (tokens > UNK)
    return batch


def _masked_losses(model: PreTrainedModel, batch: Batch) -> tuple[Tensor, Tensor]:
    """Cross-entropy of the masked pieces, by the input embeddings as output weights, so that nothing is left over."""
    tokens, masked = batch["input_ids"], batch["masked"]
    hidden = model.base_model(
        input_ids=tokens.masked_fill(masked, UNK), token_type_ids=batch["token_type_ids"]
    ).last_hidden_state
    logits = hidden[masked] @ model.get_input_embeddings().weight.T
    sums = functional.cross_entropy(logits, tokens[masked], reduction="none")
    return sums, torch.ones_like(sums)
