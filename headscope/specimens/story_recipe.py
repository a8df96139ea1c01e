"""What both writers learn from: stories of the grammar, and the next piece as the one task."""

from __future__ import annotations

import math
from collections.abc import Iterable
from itertools import islice
from typing import Any

import torch
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from torch import Tensor, nn
from torch.nn import functional
from transformers import PreTrainedModel, PreTrainedTokenizerFast

from headscope.models.head_model import HeadModel
from headscope.specimens.length_batches import by_length, padded, shuffled
from headscope.specimens.recipe import Batch, Recipe
from headscope.tasks.grammar import stories
from headscope.tasks.task_catalog import SEED, SIZES

PIECES = 1000
LONGEST = 256
ROUND = 2048
BUDGET = 1536
AMPLITUDE = 0.1


class StoryRecipe(Recipe):
    """A causal language model of stories."""

    data = "Stories of the grammar, made anew in every round."

    def processor(self) -> PreTrainedTokenizerFast:
        """A story becomes `<s> story </s>`."""
        texts = (story.english for story in islice(stories(1, "train"), 6000))
        return byte_pairs(texts, PIECES, "<s> $A </s>", ["input_ids", "attention_mask"])

    def model(self, processor: Any) -> PreTrainedModel:
        """Positions are learned, but start as sinusoids: heads this narrow hardly find their neighbour otherwise."""
        model = super().model(processor)
        for module in model.modules():
            if isinstance(module, nn.Embedding) and module.num_embeddings == LONGEST:
                module.weight.data.copy_(AMPLITUDE * sinusoids(LONGEST, module.embedding_dim))
        return model

    def training_round(self, processor: Any, seed: int, number: int) -> list[Batch]:
        """New stories, in batches of one length or nearly so."""
        texts = [story.english for story in islice(stories(1000 * seed + 10 + number, "train"), ROUND)]
        rows = [row for row in processor(texts)["input_ids"] if len(row) <= LONGEST]
        batches = by_length(rows, lambda row: (len(row) // 4, len(row)), BUDGET)
        return [{"input_ids": padded(batch, PAD)} for batch in shuffled(batches, seed, number)]

    def losses(self, model: PreTrainedModel, batch: Batch) -> tuple[Tensor, Tensor]:
        """Cross-entropy of every piece but the first; what comes after the end is not judged."""
        targets = batch["input_ids"][:, 1:]
        logits = model(input_ids=batch["input_ids"][:, :-1]).logits
        each = functional.cross_entropy(logits.transpose(1, 2), targets, ignore_index=PAD, reduction="none")
        return each.sum(-1), (targets != PAD).sum(-1)

    def facts(self, head_model: HeadModel) -> dict[str, Any]:
        """What the grammar itself would have as perplexity, by the probabilities of its derivations."""
        told: dict[str, float] = {}
        for story in islice(stories(SEED, "test"), 2 * SIZES["test"]):
            if len(told) < SIZES["test"]:
                told[story.english] = story.log_probability
        n_tokens = sum(len(row) - 1 for row in head_model.tokenizer(list(told))["input_ids"])
        return {"perplexity of the grammar itself": math.exp(-sum(told.values()) / n_tokens)}


def sinusoids(n_positions: int, width: int) -> Tensor:
    """The position table of Vaswani et al. 2017, sines first, [position, width]."""
    frequencies = torch.exp(-math.log(10_000) * torch.arange(0, width, 2) / width)
    angles = torch.arange(n_positions)[:, None] * frequencies
    return torch.cat([angles.sin(), angles.cos()], dim=1)


SPECIAL = {"pad_token": "<pad>", "bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"}
PAD, BOS, EOS, UNK = range(4)


def byte_pairs(texts: Iterable[str], size: int, template: str, inputs: list[str]) -> PreTrainedTokenizerFast:
    """A vocabulary of `size` pieces, special ones included; words begin with ▁ and punctuation stands alone.

    `template` tells where the special tokens go, for example `$A </s>`; a second text follows the first as ` $B </s>`.
    `inputs` names what the model reads.
    """
    tokenizer: Any = Tokenizer(models.BPE(unk_token=SPECIAL["unk_token"]))
    tokenizer.normalizer = normalizers.NFC()
    words = [pre_tokenizers.Metaspace(prepend_scheme="always"), pre_tokenizers.Punctuation("isolated")]
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(words)
    tokenizer.decoder = decoders.Metaspace(prepend_scheme="always")
    special = list(SPECIAL.values())
    trainer = trainers.BpeTrainer(vocab_size=size, special_tokens=special, show_progress=False)
    tokenizer.train_from_iterator(texts, trainer)
    tokenizer.post_processor = processors.TemplateProcessing(
        single=template,
        pair=f"{template} $B:1 {SPECIAL['eos_token']}:1",
        special_tokens=[(token, special.index(token)) for token in special],
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        model_max_length=256,
        clean_up_tokenization_spaces=False,
        model_input_names=inputs,
        **SPECIAL,
    )
