"""Tokens as people read them, whatever marks a tokenizer puts on its pieces."""

from __future__ import annotations

import pytest
from tokenizers import Tokenizer, decoders
from tokenizers.models import BPE, Unigram, WordPiece
from tokenizers.pre_tokenizers import ByteLevel, Metaspace
from transformers import PreTrainedTokenizerFast

from headscope.analysis.attention.readable_tokens import BLANK, UNREADABLE, readable


def wrapped(plain: Tokenizer) -> PreTrainedTokenizerFast:
    return PreTrainedTokenizerFast(tokenizer_object=plain, bos_token="<s>", unk_token="<unk>")


def byte_level(*tokens: str) -> PreTrainedTokenizerFast:
    plain = Tokenizer(BPE({token: number for number, token in enumerate(("<s>", "<unk>", *tokens))}, []))
    plain.pre_tokenizer, plain.decoder = ByteLevel(), decoders.ByteLevel()
    return wrapped(plain)


def sentence_pieces(*tokens: str) -> PreTrainedTokenizerFast:
    plain = Tokenizer(Unigram([(token, 0.0) for token in ("<s>", "<unk>", *tokens)], unk_id=1))
    plain.pre_tokenizer, plain.decoder = Metaspace(), decoders.Metaspace()
    return wrapped(plain)


def word_pieces(*tokens: str) -> PreTrainedTokenizerFast:
    vocabulary = {token: number for number, token in enumerate(("<s>", "<unk>", *tokens))}
    plain = Tokenizer(WordPiece(vocabulary, unk_token="<unk>"))
    plain.decoder = decoders.WordPiece()
    return wrapped(plain)


@pytest.mark.parametrize(
    ("tokenizer", "expected"),
    [
        (byte_level("Ġtable", "s", "Ġ", "Ċ", "##", "Ã", "Ã¼"), ["table", "s", BLANK, "↵", "##", UNREADABLE, "ü"]),
        (sentence_pieces("▁table", "s", "▁", "a\tb", "ü\u202e"), ["table", "s", BLANK, "a⇥b", f"ü{UNREADABLE}"]),
        (word_pieces("table", "##s", "<img src=x onerror=f()>"), ["table", "s", "<img src=x onerror=f()>"]),
    ],
)
def test_marks_of_pieces_go_and_special_tokens_stay(tokenizer, expected):
    assert list(readable(tokenizer, range(len(expected) + 2))) == ["<s>", "<unk>", *expected]
