"""Typical examples as they are drawn: the right part of a reading, its tokens by name, its attention as lines."""

from __future__ import annotations

import pytest
import torch

from headscope.analysis.roles.drawn_examples import LEAST, WINDOW, drawn, drawn_examples
from headscope.analysis.roles.layer_attention import Look
from headscope.analysis.roles.passages import Passage, from_texts
from headscope.analysis.roles.sample import image_sample, text_sample
from headscope.analysis.roles.search_progress import at_once
from headscope.analysis.roles.typical_examples import Typical
from headscope.models.heads import HeadId
from headscope.models.recording.maps import attention_maps
from tests.analysis.roles import wired
from tests.analysis.subjects import subject
from tests.tasks.tiny import TEXTS


def long_look(n: int, bank: str = "encoder") -> tuple[Look, tuple[list[str], list[str]]]:
    (reading, *_) = text_sample(subject("encoder")[0], from_texts(["w1 w2 w3"])).readings
    names = [f"t{place}" for place in range(n)]
    return Look(reading, bank, torch.full((1, n, n), 0.01)), (names, names)


def test_the_part_of_a_long_text_that_is_drawn_has_the_looks_in_its_middle() -> None:
    look, names = long_look(60)
    part = drawn(look, names, [(41, 38, 0.9)], LEAST)
    assert len(part.queries) == len(part.keys) == WINDOW
    ((query, key, weight),) = part.looks
    assert (part.queries[query], part.keys[key], weight) == ("t41", "t38", 0.9)
    assert 3 <= key < query <= WINDOW - 4


def test_the_part_is_the_one_in_which_the_looks_weigh_most() -> None:
    look, names = long_look(60)
    part = drawn(look, names, [(5, 4, 0.6), (50, 49, 0.5), (52, 51, 0.5), (30, 2, 0.99)], LEAST)
    assert {(part.queries[query], part.keys[key]) for query, key, _ in part.looks} == {("t50", "t49"), ("t52", "t51")}


def test_a_short_text_is_drawn_whole_and_a_translation_from_its_beginning() -> None:
    look, names = long_look(5)
    assert drawn(look, names, [(4, 0, 0.5)], LEAST).queries == tuple(names[0])
    cross, long_names = long_look(40, "cross")
    assert drawn(cross, long_names, [(2, 3, 0.5)], LEAST).keys == tuple(long_names[1][:WINDOW])


def test_other_attention_is_drawn_where_it_is_strong_and_no_look_twice() -> None:
    look, names = long_look(4)
    look.attention[0, 2, 1], look.attention[0, 3, 0] = 0.4, 0.3
    part = drawn(look, names, [(2, 1, 0.4)], LEAST)
    assert part.looks == ((2, 1, 0.4),)
    assert part.others == ((3, 0, 0.3),)


@pytest.mark.parametrize("kind", ["encoder", "decoder", "seq2seq"])
def test_lines_are_the_attention_of_that_head_in_that_reading(kind: str) -> None:
    head_model, _ = subject(kind)
    sample = text_sample(head_model, [Passage((text,), (tuple(text.split()),), (), text) for text in TEXTS[:8]])
    head = next(one for one in reversed(head_model.grid.heads) if one.bank != "cross")
    reading = sample.readings[3]
    typical = {"broad": {head: (Typical(3, reading.text, ((1, 1, 0.9),)),)}}
    (part,) = at_once(drawn_examples(head_model, sample, typical))["broad"][head]
    (alone,) = [batch for batch in sample.batches(head_model, 1) if batch.indices == (3,)]
    weights = attention_maps(head_model, alone.inputs)[head.bank, head.layer][head.head]
    assert part.looks == ()
    assert len(part.others) > 3
    for query, key, weight in part.others:
        assert weight == pytest.approx(float(weights[query, key]), abs=2e-3)


def test_tokens_have_names_that_people_read() -> None:
    head_model, _ = subject("seq2seq")
    sample = text_sample(head_model, [Passage((text,), (tuple(text.split()),), (), text) for text in TEXTS[:4]])
    head = HeadId("cross", 0, 1)
    typical = {"alignment": {head: (Typical(1, "", ((1, 0, 0.5),)),)}}
    (part,) = at_once(drawn_examples(head_model, sample, typical))["alignment"][head]
    assert part.queries[0] == "<start>"
    assert set(part.queries[1:]) & set(TEXTS[1].split())
    assert set(part.keys) & set(TEXTS[1].split())


def test_the_tokens_of_an_image_are_its_patches() -> None:
    sample = image_sample(wired.looker(), 2)
    typical = {"positional": {HeadId("encoder", 0, 0): (Typical(1, "", ((1, 2, 0.5),)),)}}
    (part,) = at_once(drawn_examples(wired.looker(), sample, typical))["positional"][HeadId("encoder", 0, 0)]
    names = ["[CLS]", *(f"{row},{column}" for row in range(1, 5) for column in range(1, 5))]
    start = names.index(part.queries[0])
    assert part.queries == part.keys == tuple(names[start : start + WINDOW])
    assert [(part.queries[query], part.keys[key]) for query, key, _ in part.looks] == [("1,1", "1,2")]


def test_nothing_typical_is_nothing_to_draw() -> None:
    head_model, _ = subject("encoder")
    assert at_once(drawn_examples(head_model, text_sample(head_model, from_texts(TEXTS)), {})) == {}
