"""Language modelling: the library's own loss, windows that predict every token once, and gaps."""

import math

import numpy as np
import pytest
import torch

from headscope.tasks.language_modelling import LanguageModelling, gap_rows, window_rows
from headscope.tasks.task import Splits
from tests.tasks.tiny import TEXTS, filler, tiny


def of(texts):
    return LanguageModelling("l", "L", Splits.of(texts, texts, texts))


def uniform(head_model):
    """The model, which now finds all 60 tokens equally likely."""
    torch.nn.init.zeros_(head_model.model.get_output_embeddings().weight)
    return head_model


def test_a_uniform_model_has_the_perplexity_of_its_vocabulary():
    writer = uniform(tiny("gpt2"))
    perplexity, bits = of(TEXTS).estimates(of(TEXTS).outcomes(writer, "test"))
    assert perplexity.value == pytest.approx(60)
    assert bits.value == pytest.approx(math.log2(60))


def test_the_loss_is_the_librarys():
    writer = tiny("gpt2")
    for batch in of(TEXTS).batches(writer, "test", 5, budget=1):
        expected = writer.model(**batch.inputs, labels=batch.inputs["input_ids"]).loss
        found = of(TEXTS).losses(writer, batch)[0]
        torch.testing.assert_close(found, expected.double(), atol=1e-5, rtol=0)


def test_windows_predict_every_token_once():
    writer = tiny("gpt2")
    words = [f"w{number % 50}" for number in range(200)]
    rows = window_rows(writer, [" ".join(words), "w1"])
    assert max(len(row.inputs["input_ids"]) for row in rows) == 64
    predicted = [label for row in rows if row.index == 0 for label in row.labels if label >= 0]
    assert writer.tokenizer.convert_ids_to_tokens(predicted) == [*words, "</s>"]
    outcomes = of([" ".join(words), "w1"]).outcomes(writer, "test")
    assert outcomes["n_tokens"].tolist() == [201, 2]


def test_a_long_text_is_the_sum_of_its_windows():
    writer = tiny("gpt2")
    text = " ".join(f"w{number % 50}" for number in range(100))
    by_hand = 0.0
    with torch.no_grad():
        for row in window_rows(writer, [text]):
            logs = writer.model(torch.tensor([row.inputs["input_ids"]])).logits[0].log_softmax(-1)
            by_hand -= sum(float(logs[place, label]) for place, label in enumerate(row.labels) if label >= 0)
    np.testing.assert_allclose(of([text]).outcomes(writer, "test")["nll"], [by_hand])


def test_a_text_without_a_token_to_predict_is_left_out():
    writer = tiny("gpt2", pattern="$A")
    writer.tokenizer.bos_token = None
    outcomes = of(["w1 w2", "w3", "w4 w5"]).outcomes(writer, "test")
    assert outcomes.indices.tolist() == [0, 2]


def test_gaps_are_masked_one_at_a_time_and_no_special_token_is_asked_for():
    bert = filler()
    rows = gap_rows(bert, ["w1 w2 w3 w4 w5 w6 w7 w8", "w1 w2"], 4)
    asked = []
    for row in rows:
        (place,) = [place for place, label in enumerate(row.labels) if label >= 0]
        assert row.inputs["input_ids"][place] == bert.tokenizer.mask_token_id
        asked.append((row.index, bert.tokenizer.convert_ids_to_tokens(row.labels[place])))
    assert asked == [(0, "w2"), (0, "w4"), (0, "w6"), (0, "w8"), (1, "w1"), (1, "w2")]


def test_a_long_text_is_read_as_often_as_a_short_one_with_a_gap_for_every_stretch():
    bert = filler()
    words = [f"w{number}" for number in range(40)]
    rows = gap_rows(bert, [" ".join(words), " ".join(words[:19])], 4, 10)
    masked = [[place for place, label in enumerate(row.labels) if label >= 0] for row in rows]
    assert masked[:4] == [[2, 12, 22, 32], [4, 14, 24, 34], [7, 17, 27, 37], [9, 19, 29, 39]]
    assert [(row.index, len(places)) for row, places in zip(rows[4:], masked[4:], strict=True)] == [(1, 1)] * 4
    for row, places in zip(rows, masked, strict=True):
        read = bert.tokenizer.convert_ids_to_tokens(row.inputs["input_ids"])
        assert [place for place, token in enumerate(read) if token == "<mask>"] == places
        assert bert.tokenizer.convert_ids_to_tokens([row.labels[place] for place in places]) == [
            words[place - 1] for place in places
        ]


def test_a_classifier_is_refused():
    with pytest.raises(ValueError, match="chooses a label for a text; this task needs one that predicts the next"):
        of(TEXTS).outcomes(tiny("bert"), "test")
