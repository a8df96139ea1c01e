"""What is seen of an example: the model's own attention, with and without heads, in every family."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
import torch

from headscope.analysis.attention.example import MOST_TOKENS, Example
from headscope.analysis.attention.example_run import see
from headscope.models.head_model import HeadModel
from headscope.models.heads import HeadId
from headscope.pruning.masks import HeadMask
from headscope.pruning.surgery import without_heads
from headscope.specimens.shipped import load
from headscope.tasks.vision import digit_split
from tests.families import FAMILIES, masks
from tests.tasks.tiny import filler, tiny

SENTENCE = Example("The old teacher sees the key on the table.")
EXAMPLES = {
    "translator": SENTENCE,
    "reader": Example("The dog sees the old cat.", "The dog sees the cat."),
    "writer": SENTENCE,
    "all-attention-writer": SENTENCE,
    "looker": Example(image=7),
}


@cache
def specimen(name: str) -> HeadModel:
    return load(name)


@cache
def model_of(name: str) -> HeadModel:
    return tiny(name, "<s> $A </s>")


def example_for(name: str) -> Example:
    return Example(image=3) if name in ("vit", "deit", "clip-vision") else Example("w1 w2 w3 w4 w5")


def tensors(**named) -> dict[str, torch.Tensor]:
    return {name: torch.tensor([value]) for name, value in named.items()}


@torch.no_grad()
def own_attention(head_model: HeadModel, example: Example, seen) -> dict[str, tuple[torch.Tensor, ...]]:
    """The maps that the model itself gives out, by bank."""
    model, tokenizer = head_model.model, head_model.tokenizer
    if example.image is not None:
        images, _ = digit_split("test")
        return {"encoder": model(images[[example.image]], output_attentions=True).attentions}
    tokens = tokenizer(example.text, example.pair, return_tensors="pt")
    if seen.answer.kind == "writer":
        return {"decoder": model(tokens.input_ids[:, :-1], output_attentions=True).attentions}
    if seen.answer.kind == "classifier":
        return {"encoder": model(**tokens, output_attentions=True).attentions}
    written = model.generate(**tokens, do_sample=False, num_beams=1, max_new_tokens=60)  # start, translation, end
    output = model(**tokens, decoder_input_ids=written[:, :-1], output_attentions=True)
    return {
        "encoder": output.encoder_attentions,
        "decoder": output.decoder_attentions,
        "cross": output.cross_attentions,
    }


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_maps_of_a_specimen_are_those_the_model_gives_out_itself(name):
    head_model = specimen(name)
    seen = see(head_model, EXAMPLES[name])
    expected = own_attention(head_model, EXAMPLES[name], seen)
    assert [bank.bank for bank in seen.banks] == list(expected)
    for bank in seen.banks:
        assert len(bank.layers) == len(expected[bank.bank])
        for layer, own in zip(bank.layers, expected[bank.bank], strict=True):
            own = own[0].numpy()
            if name == "all-attention-writer":
                own = np.concatenate([own[..., :64].sum(-1, keepdims=True), own[..., 64:]], axis=-1)
            assert layer.maps.dtype == np.float32
            assert layer.maps.shape == (len(layer.heads), len(bank.queries), len(bank.keys))
            np.testing.assert_allclose(layer.maps, own, atol=1e-6)


def test_tokens_are_named_as_people_read_them():
    head_model = specimen("translator")
    seen = see(head_model, SENTENCE)
    pieces = head_model.tokenizer.convert_ids_to_tokens(head_model.tokenizer(SENTENCE.text).input_ids)
    source = tuple(piece.removeprefix("▁") or "␣" for piece in pieces)
    assert source[0] == "The" and source[-1] == "</s>"
    assert seen.bank("encoder").queries == seen.bank("encoder").keys == seen.bank("cross").keys == source
    target = seen.bank("decoder").queries
    assert target == seen.bank("decoder").keys == seen.bank("cross").queries
    assert target[0] == "<start>" and "".join(target[1:]) == seen.answer.text.replace(" ", "")


def test_persistent_keys_are_one_key_before_the_text():
    bank = see(specimen("all-attention-writer"), SENTENCE).bank("decoder")
    assert bank.keys == ("persistent (64)", *bank.queries) and bank.queries[0] == "<s>"


def test_the_second_text_starts_where_pair_start_says():
    seen = see(specimen("reader"), EXAMPLES["reader"])
    tokens = seen.bank("encoder").queries
    assert "".join(tokens[seen.pair_start :]).replace("␣", "") == "Thedogseesthecat.</s>"
    assert see(specimen("reader"), Example("The dog sleeps.")).pair_start is None


@pytest.mark.parametrize("name", [name for name in FAMILIES if name != "whisper"])
def test_every_family_is_seen_token_by_token(name):
    head_model = model_of(name)
    seen = see(head_model, example_for(name))
    assert [bank.bank for bank in seen.banks] == [bank.bank for bank in head_model.grid.banks]
    for bank in seen.banks:
        for layer in bank.layers:
            assert layer.maps.shape == (4, len(bank.queries), len(bank.keys))
            np.testing.assert_allclose(layer.maps.sum(-1), 1, atol=1e-5)


@pytest.mark.parametrize("name", ["bert", "deberta-v2", "gpt2", "llama", "marian", "t5", "vit"])
@pytest.mark.parametrize("mask", ["uneven", "empty first layer"])
def test_switching_heads_off_shows_what_removing_them_for_good_shows(name, mask):
    head_model, example = model_of(name), example_for(name)
    heads = masks(head_model.grid)[mask]
    off, gone = see(head_model, example, heads.removed), see(without_heads(head_model, heads), example)
    assert off.removed == gone.removed == heads.removed
    assert off.answer.text == gone.answer.text
    np.testing.assert_allclose(off.answer.certainty, gone.answer.certainty, rtol=1e-5)
    for before, after in zip(off.banks, gone.banks, strict=True):
        assert (before.queries, before.keys, before.n_heads) == (after.queries, after.keys, after.n_heads)
        for number, (whole, smaller) in enumerate(zip(before.layers, after.layers, strict=True)):
            kept = [head for head in whole.heads if HeadId(before.bank, number, head) not in heads]
            assert smaller.heads == tuple(kept)
            assert smaller.maps.shape == (len(kept), len(before.queries), len(before.keys))
            np.testing.assert_allclose(smaller.maps, whole.maps[kept], atol=1e-5)
            assert all((after.map_of(number, head) is None) == (head not in kept) for head in range(4))


@pytest.mark.parametrize("name", ["bert", "gpt2", "marian", "vit"])
def test_a_model_without_any_head_still_answers(name):
    head_model = model_of(name)
    empty = see(without_heads(head_model, HeadMask(head_model.grid, frozenset(head_model.grid))), example_for(name))
    assert empty.removed == frozenset(head_model.grid)
    assert empty.answer.guesses or empty.answer.kind == "translator"
    for bank in empty.banks:
        assert {layer.maps.shape for layer in bank.layers} == {(0, len(bank.queries), len(bank.keys))}


@pytest.mark.parametrize("name", ["reader", "translator"])
def test_a_switched_off_head_keeps_its_map_and_changes_what_comes_after(name):
    head_model = specimen(name)
    off = frozenset(head_model.grid.layer("encoder", 0)[:6])
    whole, less = (see(head_model, EXAMPLES[name], heads) for heads in (frozenset(), off))
    assert whole.removed == frozenset() and less.removed == off
    first, second = (seen.bank("encoder").layers for seen in (whole, less))
    np.testing.assert_array_equal(first[0].maps, second[0].maps)
    assert all(np.abs(one.maps - other.maps).max() > 0.01 for one, other in zip(first[1:], second[1:], strict=True))
    assert whole.answer.certainty != less.answer.certainty


def test_an_endless_translation_is_shown_as_far_as_it_fits(monkeypatch):
    head_model = tiny("t5")
    monkeypatch.setattr(head_model.model.generation_config, "eos_token_id", None)
    seen = see(head_model, Example("w1 " * 60))
    assert len(seen.answer.certainty) > MOST_TOKENS
    assert len(seen.bank("decoder").queries) == len(seen.bank("cross").queries) == MOST_TOKENS


def test_a_head_of_another_model_is_refused():
    with pytest.raises(KeyError, match=r"no head encoder\.9\.0 in this model; it has encoder 3 x 4"):
        see(model_of("bert"), example_for("bert"), frozenset({HeadId("encoder", 9, 0)}))


def test_the_gates_are_gone_afterwards_and_no_gradient_is_left():
    head_model = model_of("bert")
    before = see(head_model, example_for("bert")).answer
    see(head_model, example_for("bert"), frozenset(head_model.grid))
    assert see(head_model, example_for("bert")).answer == before
    assert all(parameter.grad is None for parameter in head_model.model.parameters())


def test_a_text_without_a_gap_gets_maps_and_no_words():
    seen = see(filler(), Example("w1 w2"))
    assert seen.answer.text == "" and seen.answer.guesses == ()
    assert seen.bank("encoder").queries == ("<s>", "w1", "w2", "</s>")
