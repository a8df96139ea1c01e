"""What a model says, against the plain formula and the library's own generation."""

from __future__ import annotations

import pytest
import torch
import transformers as hf

from headscope.analysis.attention.example import Example, inputs_of
from headscope.analysis.attention.example_run import see
from headscope.models.gating import gated
from headscope.models.head_model import HeadModel
from headscope.specimens.shipped import load
from tests.families import TEXT
from tests.tasks.tiny import filler, sharpened, tiny, tokenizer

SENTENCE = "The old teacher sees the key on the table."


def softmax(logits: torch.Tensor) -> list[float]:
    weights = [2.718281828459045 ** (float(logit) - float(logits.max())) for logit in logits]
    return [weight / sum(weights) for weight in weights]


def top_five(logits: torch.Tensor, names) -> list[tuple[str, float]]:
    shares = sorted(((share, -number) for number, share in enumerate(softmax(logits))), reverse=True)[:5]
    return [(names(-number), pytest.approx(share, rel=1e-4)) for share, number in shares]


def pairs(choice) -> list[tuple[str, float]]:
    return [(guess.text, guess.probability) for guess in choice]


def closed(head_model: HeadModel, *addresses: str) -> tuple[frozenset, torch.Tensor]:
    heads = frozenset(head for head in head_model.grid if str(head) in addresses)
    return heads, torch.tensor([float(head not in heads) for head in head_model.grid])


@pytest.mark.parametrize("name", ["reader", "looker"])
def test_a_label_comes_with_the_softmax_of_the_logits(name):
    head_model = load(name)
    example = Example(image=9) if name == "looker" else Example("The dog sleeps.", "The old dog sleeps.")
    off, gates = closed(head_model, "encoder.0.1", "encoder.3.2")
    with torch.no_grad(), gated(head_model, gates):
        logits = head_model.model(**inputs_of(head_model, example)).logits[0].double()
    answer = see(head_model, example, off).answer
    (choice,) = answer.guesses
    assert pairs(choice) == top_five(logits, head_model.model.config.id2label.get)
    assert (answer.text, answer.certainty) == (choice[0].text, (choice[0].probability,))


@pytest.mark.parametrize("name", ["writer", "all-attention-writer"])
def test_a_writer_goes_on_as_the_library_does(name):
    head_model = load(name)
    off, gates = closed(head_model, "decoder.0.3", "decoder.2.5")
    inputs = inputs_of(head_model, Example(SENTENCE))
    begun = inputs["input_ids"].shape[1]
    with torch.no_grad(), gated(head_model, gates):
        written = head_model.model.generate(**inputs, do_sample=False, max_new_tokens=12)[0]
        written = written[written != head_model.tokenizer.eos_token_id]
        logits = head_model.model(written[None]).logits[0].double()
    answer = see(head_model, Example(SENTENCE), off).answer
    assert answer.text == head_model.tokenizer.decode(written, skip_special_tokens=True).removeprefix(SENTENCE)
    assert answer.text.startswith(" ")
    (choice,) = answer.guesses
    pieces = head_model.tokenizer.convert_ids_to_tokens
    assert pairs(choice) == top_five(logits[begun - 1], lambda number: pieces(number).removeprefix("▁"))
    expected = [softmax(logits[place - 1])[written[place]] for place in range(begun, len(written))]
    assert answer.certainty == pytest.approx(expected, rel=1e-4)


def test_a_writer_stops_at_its_end_token_and_where_it_can_read_no_further(monkeypatch):
    head_model = tiny("gpt2")
    monkeypatch.setattr(head_model.model.generation_config, "eos_token_id", None)
    free = see(head_model, Example("w1 w2")).answer
    assert len(free.certainty) == 12
    assert len(see(head_model, Example("w1 " * 61)).answer.certainty) == 64 - 62 + 1  # of 64 places 62 are read
    words = head_model.tokenizer(free.text.strip()).input_ids[:-1]
    end = next(token for token in words if token != words[0])
    monkeypatch.setattr(head_model.model.generation_config, "eos_token_id", end)
    assert len(see(head_model, Example("w1 w2")).answer.certainty) == words.index(end)


def test_a_translation_is_the_librarys_and_each_token_has_its_probability():
    head_model = load("translator")
    off, gates = closed(head_model, "encoder.1.1", "cross.1.4", "decoder.0.0")
    inputs = inputs_of(head_model, Example(SENTENCE))
    with torch.no_grad(), gated(head_model, gates):
        written = head_model.model.generate(**inputs, do_sample=False, num_beams=1, max_new_tokens=60)[0]
        written = written[:-1]  # without the end
        expected = []
        for place in range(1, len(written)):
            logits = head_model.model(**inputs, decoder_input_ids=written[None, :place]).logits[0, -1].double()
            expected.append(softmax(logits)[written[place]])
    answer = see(head_model, Example(SENTENCE), off).answer
    assert answer.text == head_model.tokenizer.decode(written, skip_special_tokens=True)
    assert answer.certainty == pytest.approx(expected, rel=1e-4)
    assert answer.guesses == ()


def test_every_gap_is_filled_with_its_likeliest_token():
    head_model = filler()
    example = Example("w1 <mask> w3 <mask>")
    with torch.no_grad():
        logits = head_model.model(**inputs_of(head_model, example)).logits[0]
    answer = see(head_model, example).answer
    name = head_model.tokenizer.convert_ids_to_tokens
    assert [pairs(choice) for choice in answer.guesses] == [top_five(logits[place], name) for place in (2, 4)]
    assert answer.certainty == tuple(choice[0].probability for choice in answer.guesses)
    first, second = (choice[0].text for choice in answer.guesses)
    assert answer.text.split() == ["w1", first, "w3", second]


def test_a_model_that_labels_tokens_labels_each():
    head_model = sharpened(lambda: hf.BertForTokenClassification(hf.BertConfig(**TEXT)), tokenizer())
    answer = see(head_model, Example("w1 w2")).answer
    assert len(answer.guesses) == len(answer.certainty) == len(answer.text.split()) == 3


def test_a_single_output_is_a_number_and_no_certainty():
    head_model = sharpened(lambda: hf.BertForSequenceClassification(hf.BertConfig(**TEXT, num_labels=1)), tokenizer())
    answer = see(head_model, Example("w1 w2")).answer
    with torch.no_grad():
        number = float(head_model.model(**inputs_of(head_model, Example("w1 w2"))).logits)
    assert float(answer.text) == pytest.approx(number, abs=5e-4)
    assert answer.guesses == () and answer.certainty == ()


def test_a_model_without_an_output_head_says_nothing():
    head_model = sharpened(lambda: hf.BertModel(hf.BertConfig(**TEXT)), tokenizer())
    answer = see(head_model, Example("w1 w2")).answer
    assert (answer.kind, answer.text, answer.guesses, answer.certainty) == ("encoder", "", (), ())
    assert see(tiny("clip-vision"), Example(image=0)).answer.text == ""
