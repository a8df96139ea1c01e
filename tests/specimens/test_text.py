"""Tokenizers and batches of the text specimens."""

from __future__ import annotations

from headscope.specimens.length_batches import by_length, padded, shuffled
from headscope.specimens.story_recipe import BOS, EOS, PAD, UNK, byte_pairs

TEXTS = ["The old teacher reads, and Mara sleeps.", "Der alte Lehrer liest, und Mara schläft."] * 5


def test_text_survives_the_tokenizer() -> None:
    tokenizer = byte_pairs(TEXTS, 90, "$A </s>", ["input_ids", "attention_mask"])
    for text in TEXTS[:2]:
        tokens = tokenizer(text)["input_ids"]
        assert tokens[-1] == EOS
        assert UNK not in tokens
        assert tokenizer.decode(tokens, skip_special_tokens=True) == text


def test_punctuation_is_a_piece_of_its_own() -> None:
    tokenizer = byte_pairs(TEXTS, 200, "$A </s>", ["input_ids"])
    assert [piece for piece in tokenizer.tokenize(TEXTS[0]) if piece in ",."] == [",", "."]


def test_a_pair_of_texts_is_parted_by_special_tokens_and_types() -> None:
    tokenizer = byte_pairs(TEXTS, 200, "<s> $A </s>", ["input_ids", "token_type_ids"])
    encoded = tokenizer("Mara", "The teacher")
    first, second = (tokenizer(text, add_special_tokens=False)["input_ids"] for text in ("Mara", "The teacher"))
    assert encoded["input_ids"] == [BOS, *first, EOS, *second, EOS]
    assert encoded["token_type_ids"] == [0] * (len(first) + 2) + [1] * (len(second) + 1)


def test_special_tokens_have_fixed_places() -> None:
    tokenizer = byte_pairs(TEXTS, 60, "$A </s>", ["input_ids"])
    assert tokenizer.convert_tokens_to_ids(["<pad>", "<s>", "</s>", "<unk>"]) == [PAD, BOS, EOS, UNK]


def test_batches_have_one_length_keep_to_the_budget_and_lose_nothing() -> None:
    words = ["a" * length for length in (3, 1, 2, 3, 3, 2, 1, 3, 3)]
    batches = by_length(words, lambda word: (len(word),), budget=6)
    assert sorted(word for batch in batches for word in batch) == sorted(words)
    for batch in batches:
        assert len({len(word) for word in batch}) == 1
        assert sum(map(len, batch)) <= 6


def test_the_order_of_batches_depends_on_seed_and_round_only() -> None:
    orders = [shuffled([[number] for number in range(20)], seed, number) for seed, number in ((1, 0), (1, 0), (1, 1))]
    assert orders[0] == orders[1] != orders[2]


def test_rows_are_filled_up_on_the_right() -> None:
    assert padded([[5, 6, 7], [8]], 0).tolist() == [[5, 6, 7], [8, 0, 0]]
