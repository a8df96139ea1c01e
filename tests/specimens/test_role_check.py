"""The literal role check, on attention whose roles are known."""

from __future__ import annotations

from itertools import islice

import pytest
import torch

from models.heads import HeadId
from specimens.role_check import links, positions, roles, within_words, word_attention, word_of_piece
from specimens.tokenizer import byte_pairs
from tasks.corpus import sentences

HEADS = [HeadId("encoder", 0, 0), HeadId("encoder", 0, 1)]


def test_a_head_that_looks_one_piece_back_is_positional() -> None:
    back = torch.zeros(6, 6)
    back[range(1, 6), range(5)] = 1.0
    back[0, 3] = 1.0
    there = torch.zeros(6, 6)
    there[:, 2] = 1.0
    first, second = positions(HEADS, [torch.stack([there, back])])
    assert first == (HEADS[1], -1, pytest.approx(5 / 6))
    assert second[0] == HEADS[0]
    assert second[2] == pytest.approx(1 / 6)


def test_attention_to_the_pieces_of_a_word_is_summed_and_from_them_averaged() -> None:
    attention = torch.tensor([[[0.2, 0.3, 0.5], [0.6, 0.0, 0.4], [0.1, 0.2, 0.7]]])
    between = word_attention([0, 0, 1], attention)
    torch.testing.assert_close(between, torch.tensor([[[0.55, 0.45], [0.3, 0.7]]]))


def test_a_head_that_looks_at_the_governor_is_found_and_an_offset_head_is_not() -> None:
    sample = list(islice(sentences(1, "test"), 200))
    words = []
    for sentence in sample:
        n = len(sentence.words)
        governor, next_word = torch.zeros(n, n), torch.zeros(n, n)
        for word, head in enumerate(sentence.heads):
            governor[word, head - 1 if head else word] = 1.0
            next_word[word, min(word + 1, n - 1)] = 1.0
        words.append(torch.stack([next_word, governor]))
    found = {role.relation: role for role in roles(HEADS, sample, words)}
    subject = found["nsubj: dependent to head"]
    assert (subject.head, subject.score, subject.passes) == (HEADS[1], 1.0, True)
    back = found["nsubj: head to dependent"]
    assert not back.passes


def test_every_piece_belongs_to_its_word() -> None:
    sample = list(islice(sentences(2, "test"), 50))
    tokenizer = byte_pairs([one.english for one in sample], 300, "$A </s>", ["input_ids", "attention_mask"])
    for sentence in sample:
        owners = word_of_piece(tokenizer, sentence)
        pieces = tokenizer.tokenize(sentence.english)
        assert len(owners) == len(pieces)
        for number, word in enumerate(sentence.words):
            own = "".join(piece for piece, owner in zip(pieces, owners, strict=True) if owner == number)
            assert own.replace("▁", "").lower() == word.replace(" ", "").lower()


def test_links_are_the_dependencies_both_ways_without_punctuation() -> None:
    sentence = next(sentences(3, "test"))
    pairs = [pair for relation, pair in links(sentence) if relation != "pronoun to antecedent"]
    inner = [
        (w, h - 1)
        for w, (h, r) in enumerate(zip(sentence.heads, sentence.relations, strict=True))
        if h and r != "punct"
    ]
    assert sorted(pairs) == sorted([*inner, *((head, word) for word, head in inner)])


def test_a_head_that_gathers_pieces_is_told_from_even_attention() -> None:
    gathers = torch.tensor([[0.0, 1.0, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0], [1.0, 0.0, 0.0, 0.0]])
    stays = torch.eye(4)
    torch.testing.assert_close(
        within_words([[0, 0, 1, 2]], [torch.stack([gathers, stays])]), torch.tensor([1.0, 0, 0.25])
    )
