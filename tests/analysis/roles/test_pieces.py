from __future__ import annotations

from itertools import islice

import pytest
import transformers as hf

from headscope.analysis.roles.word_pieces import owners_of, piece_spans, readable_text, word_spans
from headscope.specimens.story_recipe import byte_pairs
from headscope.tasks.grammar import sentences


def test_every_piece_belongs_to_its_word() -> None:
    sample = list(islice(sentences(2, "test"), 50))
    tokenizer = byte_pairs([one.english for one in sample], 300, "$A </s>", ["input_ids", "attention_mask"])
    several = 0
    for sentence in sample:
        tokens = tokenizer(sentence.english, add_special_tokens=False).input_ids
        spans = piece_spans(tokenizer, sentence.english, tokens)
        owners = owners_of(sentence.english, sentence.words, spans)
        pieces = tokenizer.convert_ids_to_tokens(tokens)
        for number, word in enumerate(sentence.words):
            own = [piece for piece, owner in zip(pieces, owners, strict=True) if owner == number]
            several += len(own) > 1
            assert "".join(own).replace("▁", "").lower() == word.replace(" ", "").lower()
    assert several > 50


def test_a_tokenizer_without_offsets_gives_the_same_words() -> None:
    sample = list(islice(sentences(2, "test"), 30))
    tokenizer = byte_pairs([one.english for one in sample], 300, "$A </s>", ["input_ids", "attention_mask"])

    class Slow:
        is_fast = False
        unk_token = "<unk>"
        convert_ids_to_tokens = staticmethod(tokenizer.convert_ids_to_tokens)

    for sentence in sample:
        tokens = tokenizer(sentence.english, add_special_tokens=False).input_ids
        owners = [
            owners_of(sentence.english, sentence.words, piece_spans(one, sentence.english, tokens))
            for one in (tokenizer, Slow)
        ]
        assert owners[0] == owners[1]


def test_a_piece_of_blanks_belongs_to_the_next_word_and_one_over_two_words_to_the_first() -> None:
    text, words = "we do n't", ("we", "do", "n't")
    assert owners_of(text, words, [(0, 2), (2, 3), (3, 5), (5, 9)]) == [0, 1, 1, 2]
    assert owners_of("don't", ("do", "n't"), [(0, 3), (3, 5)]) == [0, 1]


def test_words_are_found_in_order_whatever_their_case() -> None:
    assert word_spans("The man, the dog", ("the", "man", ",", "The", "dog")) == [
        (0, 3),
        (4, 7),
        (7, 8),
        (9, 12),
        (13, 16),
    ]


def test_words_that_are_not_in_the_text_are_read_with_blanks_between_them() -> None:
    assert readable_text("Geh zum Arzt", ("Geh", "zu", "dem", "Arzt")) == "Geh zu dem Arzt"
    assert readable_text("Geh heim.", ("Geh", "heim", ".")) == "Geh heim."
    with pytest.raises(ValueError, match="are not those of"):
        owners_of("Geh zum Arzt", ("zu", "dem"), [(0, 3)])


def test_word_pieces_with_hashes_are_found_without_them() -> None:
    spans = piece_spans(_Named(["play", "##ing", "[UNK]", "cards"]), "Playing ☃ cards", [0, 1, 2, 3])
    assert spans == [(0, 4), (4, 7), (8, 9), (10, 15)]
    assert owners_of("Playing ☃ cards", ("Playing", "☃", "cards"), spans) == [0, 0, 1, 2]


class _Named:
    is_fast = False
    unk_token = "[UNK]"

    def __init__(self, names: list[str]) -> None:
        self.names = names

    def convert_ids_to_tokens(self, numbers: list[int]) -> list[str]:
        return [self.names[number] for number in numbers]


def test_transformers_still_says_which_tokenizers_are_fast() -> None:
    assert hf.PreTrainedTokenizerFast.is_fast
