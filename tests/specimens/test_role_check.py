"""The literal second count of roles, on attention whose roles are known, and against the roles themselves."""

from __future__ import annotations

from collections import Counter
from functools import cache

import pytest
import torch

from headscope.analysis.roles.methods.syntactic import Syntactic
from headscope.analysis.roles.passages import Passage, of_sentence
from headscope.analysis.roles.pointing import OFFSET
from headscope.analysis.roles.sample import Reading, text_sample
from headscope.models.heads import HeadId
from headscope.models.recording.maps import attention_maps
from headscope.specimens.role_check import encoder_looks, links, positions, roles, within_words
from headscope.tasks.grammar import sentences
from tests.analysis.roles import wired
from tests.analysis.subjects import subject
from tests.tasks.tiny import TEXTS

WIRES = [wired.offset(1), wired.related("nsubj", down=False), wired.random_of(3)]
HEADS = [HeadId("encoder", 0, head) for head in range(3)]


@cache
def seen() -> wired.Scene:
    return wired.scene(wired.trees(), "encoder", WIRES)


def test_every_piece_counts_for_a_position_also_one_without_a_neighbour() -> None:
    first = positions(HEADS, seen().looks)[0]
    pieces = [len(look.reading.source.ordinary) for look in seen().looks]
    assert first == (HEADS[0], 1, pytest.approx((sum(pieces) - len(pieces)) / sum(pieces)))


def test_a_head_that_looks_at_the_verb_of_a_subject_is_found_and_an_offset_head_is_not() -> None:
    found = {role.relation: role for role in roles(HEADS, seen().looks)}
    subject = found["nsubj: dependent to head"]
    assert (subject.head, subject.score, subject.passes) == (HEADS[1], 1.0, True)
    assert subject.holders == {HEADS[1]}
    assert not found["nsubj: head to dependent"].passes
    assert all(HEADS[0] not in role.holders for role in found.values())


def test_where_a_word_has_one_link_and_an_offset_is_the_rival_both_counts_are_the_same() -> None:
    own = {role.relation: role for role in roles(HEADS, seen().looks)}
    several = {relation for look in seen().looks for relation in _twice(look.reading)}
    tally = Syntactic().tally(seen().sample, "encoder")
    assert tally is not None
    for look in seen().looks:
        tally.add(seen().site, look)
    same = [
        one
        for one in tally.trials()
        if one.case in own and one.head == own[one.case].head and one.case not in several and OFFSET in one.control
    ]
    assert len(same) >= 5
    for trial in same:
        role = own[trial.case]
        assert (trial.scores[1], trial.baselines[1], trial.n) == (
            pytest.approx(role.score),
            pytest.approx(role.baseline),
            role.n,
        )
        assert trial.control.removeprefix(f"{OFFSET} ") == (f"{role.offset:+d}" if role.offset else "0")


def _twice(reading: Reading) -> set[str]:
    """Relations of which a word has more than one link."""
    counts = Counter((relation, source) for relation, (source, _) in links(reading))
    return {relation for (relation, _), times in counts.items() if times > 1}


def test_links_are_the_dependencies_both_ways_without_punctuation() -> None:
    sentence = next(sentences(3, "test"))
    (reading,) = text_sample(wired.reading_model("bert"), [of_sentence(sentence)]).readings
    pairs = [pair for relation, pair in links(reading) if relation != "pronoun to antecedent"]
    inner = [
        (w, h - 1)
        for w, (h, r) in enumerate(zip(sentence.heads, sentence.relations, strict=True))
        if h and r != "punct"
    ]
    assert sorted(pairs) == sorted([*inner, *((head, word) for word, head in inner)])


def test_a_head_that_gathers_pieces_is_told_from_even_attention() -> None:
    def pieces(reading: Reading, bank: str) -> dict[int, list[int]]:
        del bank
        owners = reading.source.owners
        own = {
            place: [at for at, one in enumerate(owners) if one == owners[place]] for place in reading.source.ordinary
        }
        return {place: [at for at in same if at != place][:1] for place, same in own.items() if len(same) > 1}

    gathers = wired.scene(wired.trees(), "encoder", [wired.pointing_at(pieces), wired.offset(0)])
    share, none, evenly = within_words(gathers.looks).tolist()
    assert (share, none) == (1.0, 0.0)
    assert evenly == pytest.approx(_evenly(gathers), rel=1e-5)


def _evenly(scene: wired.Scene) -> float:
    """The chance that a piece, in a word of several, looks at another piece of it if it may look anywhere."""
    chances = []
    for look in scene.looks:
        owners = [owner for owner in look.reading.source.owners if owner >= 0]
        chances += [(owners.count(owner) - 1) / len(owners) for owner in owners if owners.count(owner) > 1]
    return sum(chances) / len(chances)


def test_the_looks_of_the_encoder_are_those_of_all_its_layers_in_order() -> None:
    head_model, _ = subject("seq2seq")
    passages = [Passage((text,), (tuple(text.split()),), (), text) for text in TEXTS[:6]]
    sample = text_sample(head_model, passages)
    looks = encoder_looks(head_model, sample)
    assert [look.reading.index for look in looks] == list(range(len(sample.readings)))
    for look, alone in zip(looks, sample.batches(head_model, 1), strict=True):
        (index,) = alone.indices
        own = looks[index]
        maps = attention_maps(head_model, alone.inputs)
        expected = torch.cat([maps["encoder", layer] for layer in range(len(head_model.grid.bank("encoder").layers))])
        torch.testing.assert_close(own.attention.float(), expected.float(), rtol=1e-4, atol=1e-5)
        assert look.bank == "encoder"
