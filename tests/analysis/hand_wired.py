"""A tiny model whose weights are written by hand, so that the one head that matters is known."""

from __future__ import annotations

from functools import cache

import torch
import transformers as hf
from torch import Tensor

from headscope.models.head_model import HeadModel
from headscope.models.heads import HeadId
from headscope.tasks.classification import Classification, LabelledText
from headscope.tasks.task import SPLITS, Splits, Task
from tests.tasks.tiny import tokenizer

IMPORTANT = HeadId("encoder", 1, 2)
GOOD, BAD = "w0", "w1"
NEUTRAL = [f"w{number}" for number in range(2, 12)]
N_EXAMPLES = 24

NOISE = 0.02
OPINION, POLARITY, ANSWER = 0, 1, 2  # columns of the hidden states
SHARP = 6.0  # how much the important head prefers the opinion to any other key
MARGIN = 0.7


@cache
def hand_wired() -> tuple[HeadModel, Task, HeadId]:
    """A classifier of two layers of four heads, a task that it does without a mistake, and the head that does it.

    Each text has one word of opinion, GOOD or BAD, among neutral words; which of the two is the label. From everywhere
    the important head looks at that word and copies its polarity into a column that the classifier reads. The other
    heads, the feed-forward layers and all else are faint noise, so that no score is exactly 0 and none ties.
    """
    words = tokenizer("<s> $A </s>")
    model = hf.BertForSequenceClassification(_config(len(words))).double().eval()
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "LayerNorm" not in name:
                parameter.copy_(NOISE * torch.randn(parameter.shape, generator=generator, dtype=torch.float64))
        _wire_words(model.bert.embeddings.word_embeddings.weight, words)
        _wire_head(model.bert.encoder.layer[IMPORTANT.layer].attention, IMPORTANT.head)
        model.bert.pooler.dense.weight[ANSWER, ANSWER] = 1.0
        model.classifier.weight[:, ANSWER] += torch.tensor([-MARGIN, MARGIN])
    examples = Splits.of(*(_examples(seed) for seed in range(len(SPLITS))))
    return HeadModel.of(model, words, "hand-wired"), Classification("polarity", "polarity", examples), IMPORTANT


def _config(n_words: int) -> hf.BertConfig:
    return hf.BertConfig(
        vocab_size=n_words,
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=16,
        max_position_embeddings=32,
        num_labels=2,
    )


def _wire_words(embeddings: Tensor, words: hf.PreTrainedTokenizerFast) -> None:
    """Words of opinion stand out in two columns, all others in columns of no meaning."""
    embeddings[:, ANSWER + 1 :] += torch.randn(
        embeddings[:, ANSWER + 1 :].shape, generator=torch.Generator().manual_seed(1), dtype=torch.float64
    )
    for word, polarity in ((GOOD, 1.0), (BAD, -1.0)):
        row = embeddings[words.convert_tokens_to_ids(word)]
        row[OPINION], row[POLARITY] = 3.0, 3.0 * polarity


def _wire_head(attention: hf.models.bert.modeling_bert.BertAttention, head: int) -> None:
    """Every query is the same; a key is large where the opinion is; the value is its polarity, and goes to ANSWER."""
    width = attention.self.attention_head_size
    first = head * width
    attention.self.query.bias[first] = SHARP
    attention.self.key.weight[first, OPINION] = SHARP / 2
    attention.self.value.weight[first, POLARITY] = 1.0
    attention.output.dense.weight[ANSWER, first] = 1.0


def _examples(seed: int) -> list[LabelledText]:
    """Texts of three to seven words, every second one good."""
    generator = torch.Generator().manual_seed(seed)
    examples = []
    for number in range(N_EXAMPLES):
        n_words = 2 + number % 5
        picked = torch.randint(len(NEUTRAL), (n_words,), generator=generator).tolist()
        text = [NEUTRAL[place] for place in picked]
        text.insert(int(torch.randint(n_words + 1, (1,), generator=generator)), (BAD, GOOD)[number % 2])
        examples.append(LabelledText(" ".join(text), str(number % 2)))
    return examples
