"""A byte-pair tokenizer learned from the grammar's own text."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from transformers import PreTrainedTokenizerFast

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
