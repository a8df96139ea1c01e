"""Examples that can be looked at, and one sentence for each that cannot."""

from __future__ import annotations

import pytest
import torch

from headscope.analysis.attention.example import MOST_TOKENS, Example, inputs_of
from headscope.tasks.vision import digit_split
from tests.families import family
from tests.tasks.tiny import tiny


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({}, "an empty text"),
        ({"text": " \n"}, "an empty text"),
        ({"text": "w1", "pair": " "}, "an empty text"),
        ({"text": "w1", "image": 3}, "both a text and an image"),
        ({"image": 400}, "no image 400; allowed are 0 to 399"),
        ({"image": -1}, "no image -1; allowed are 0 to 399"),
    ],
)
def test_an_example_without_one_clear_content_is_refused(fields, message):
    with pytest.raises(ValueError, match=message):
        Example(**fields)


@pytest.mark.parametrize(
    ("name", "example", "message"),
    [
        ("gpt2", Example("w1", "w2"), "a second text for .*; it takes one text"),
        ("marian", Example("w1", "w2"), "a second text for .*; it takes one text"),
        ("bert", Example(image=0), "an image for .*; a text is needed"),
        ("vit", Example("w1"), "a text for .*; an image is needed"),
        ("whisper", Example("w1"), "listens to sound; examples are texts and images"),
    ],
)
def test_an_example_of_the_wrong_kind_is_refused(name, example, message):
    with pytest.raises(ValueError, match=message):
        inputs_of(tiny(name), example)


def test_a_model_without_a_tokenizer_reads_no_text():
    with pytest.raises(ValueError, match="bert has no tokenizer"):
        inputs_of(family("bert"), Example("w1"))


@pytest.mark.parametrize("name", ["bert", "t5"])
def test_the_longest_text_is_shown_whole_and_the_next_is_refused(name):
    head_model = tiny(name)  # its tokenizer adds one token to a text
    assert inputs_of(head_model, Example("w1 " * (MOST_TOKENS - 1)))["input_ids"].shape == (1, MOST_TOKENS)
    with pytest.raises(ValueError, match=f"a text of {MOST_TOKENS + 1} tokens; at most {MOST_TOKENS} can be shown"):
        inputs_of(head_model, Example("w1 " * MOST_TOKENS))


def test_a_model_that_reads_less_than_the_limit_says_so():
    with pytest.raises(ValueError, match="a text of 71 tokens; at most 64 can be shown"):
        inputs_of(tiny("gpt2"), Example("w1 " * 70))


def test_a_writer_reads_a_begin_token_and_no_end():
    head_model = tiny("gpt2", "$A </s>")
    tokens = inputs_of(head_model, Example("w1 w2"))["input_ids"][0].tolist()
    assert head_model.tokenizer.convert_ids_to_tokens(tokens) == ["<s>", "w1", "w2"]


def test_a_pair_is_read_as_the_tokenizer_joins_it():
    head_model = tiny("bert", "<s> $A </s>")
    inputs = inputs_of(head_model, Example("w1 w2", "w3"))
    names = head_model.tokenizer.convert_ids_to_tokens(inputs["input_ids"][0].tolist())
    assert names == ["<s>", "w1", "w2", "</s>", "w3", "</s>"]
    assert inputs["attention_mask"][0].tolist() == [1] * 6


def test_an_image_is_that_of_the_test_split():
    head_model = tiny("vit")
    seen = inputs_of(head_model, Example(image=5))["pixel_values"]
    assert seen.dtype == torch.float64
    expected = digit_split("test")[0][5].double().expand(3, -1, -1)
    torch.testing.assert_close(seen[0], expected)
