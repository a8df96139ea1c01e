"""Each role finds exactly the head that was wired for it, among others and among random ones."""

from __future__ import annotations

from functools import cache

import pytest

from headscope.analysis.roles.methods.alignment import LAST, NEXT, Alignment
from headscope.analysis.roles.methods.broad import Broad
from headscope.analysis.roles.methods.duplicate_token import DuplicateToken
from headscope.analysis.roles.methods.end_mark import BEGINNING, MARK, EndMark
from headscope.analysis.roles.methods.induction import Induction
from headscope.analysis.roles.methods.neighbourhood import Neighbourhood
from headscope.analysis.roles.methods.positional import HISTOGRAM, Positional
from headscope.analysis.roles.methods.rare_words import TOKENS, WORDS, RareWords
from headscope.analysis.roles.methods.same_token import SameToken
from headscope.analysis.roles.methods.syntactic import Syntactic
from headscope.analysis.roles.role import Role
from headscope.analysis.roles.sample import Reading, image_sample
from headscope.analysis.roles.search import all_roles
from tests.analysis.roles import wired
from tests.analysis.subjects import subject

RARE = RareWords(common=150)
RANDOM = [wired.random_of(seed) for seed in range(4)]


@cache
def in_encoder() -> wired.Scene:
    sample = wired.trees()
    named = [
        wired.offset(-1),
        wired.offset(1),
        wired.related("nsubj", down=True),
        wired.rarest(sample),
        wired.uniform,
        wired.on_last_mark,
        wired.at_equals,
        wired.related("det", down=False),
    ]
    return wired.scene(sample, "encoder", [*named, *RANDOM])


@cache
def in_decoder() -> wired.Scene:
    named = [
        wired.offset(-1),
        wired.repeated(0),
        wired.repeated(1),
        wired.on_first,
        wired.uniform,
        wired.related("obj", down=False),
    ]
    return wired.scene(wired.told(), "decoder", [*named, *RANDOM])


@cache
def in_cross() -> wired.Scene:
    named = [wired.aligned(writes=True), wired.aligned(writes=False), wired.on_last_mark]
    return wired.scene(wired.translated(), "cross", [*named, *RANDOM])


@pytest.mark.parametrize(
    ("role", "expected"),
    [
        (Positional(), {0, 1}),
        (Syntactic(), {2, 7}),
        (RARE, {3}),
        (Broad(), {4}),
        (EndMark(), {5}),
        (SameToken(), {6}),
    ],
    ids=lambda value: value.key if isinstance(value, Role) else "",
)
def test_a_role_finds_exactly_its_heads(role: Role, expected: set[int]) -> None:
    assert wired.holding(role, in_encoder()) == expected


def test_the_cases_are_those_that_were_wired() -> None:
    places = wired.verdicts(Positional(), in_encoder())
    assert [places[number].detail["case"] for number in (0, 1)] == ["-1", "+1"]
    assert places[0].score == 1.0 and places[0].detail[HISTOGRAM]["-1"] > 0.9
    trees = wired.verdicts(Syntactic(), in_encoder())
    assert trees[2].detail["case"] == "nsubj: head to dependent"
    assert trees[2].score == 1.0 and 0.2 < trees[2].baseline < 0.9
    assert trees[7].detail["case"] == "det: dependent to head"


def test_a_head_at_a_fixed_offset_has_no_relation_though_it_is_often_right() -> None:
    determiner = wired.verdicts(Syntactic(), in_encoder())[1].detail["cases"]["det: dependent to head"]
    assert determiner["score"] > 0.5 and not determiner["verdict"]


def test_words_of_many_pieces_flatter_even_attention_only_between_words() -> None:
    (between_tokens, between_words), score = _rare()
    assert between_words["baseline"] > 2 * between_tokens["baseline"]
    assert score == between_tokens["score"], "the score is that between tokens"


def _rare() -> tuple[tuple[dict[str, float], dict[str, float]], float]:
    found = wired.verdicts(RARE, in_encoder())[3]
    return (found.detail["cases"][TOKENS], found.detail["cases"][WORDS]), round(found.score, 4)


def test_heads_between_two_texts_look_over_the_separator() -> None:
    wires = [wired.at_equals, wired.related("nsubj", down=False), wired.offset(-1), *RANDOM]
    seen = wired.scene(wired.pairs(), "encoder", wires)
    assert [wired.holding(role, seen) for role in (SameToken(), Syntactic(), Positional())] == [{0}, {1}, {2}]


@pytest.mark.parametrize(
    ("role", "expected"),
    [
        (Positional(), {0}),
        (DuplicateToken(), {1}),
        (Induction(), {2}),
        (EndMark(), {3}),
        (Broad(), {4}),
        (Syntactic(), {5}),
    ],
    ids=lambda value: value.key if isinstance(value, Role) else "",
)
def test_a_role_finds_exactly_its_heads_in_a_decoder(role: Role, expected: set[int]) -> None:
    assert wired.holding(role, in_decoder()) == expected


def test_a_relation_whose_word_comes_later_is_not_asked_of_a_decoder() -> None:
    cases = wired.verdicts(Syntactic(), in_decoder())[0].detail["cases"]
    assert "det: head to dependent" in cases
    assert "det: dependent to head" not in cases


def test_the_first_token_of_a_decoder_is_a_sink() -> None:
    assert wired.verdicts(EndMark(), in_decoder())[3].detail["case"] == BEGINNING


def test_cross_attention_is_aligned_with_the_word_written_or_the_word_read() -> None:
    found = wired.verdicts(Alignment(), in_cross())
    assert {number for number, one in found.items() if one.verdict} == {0, 1}
    assert [found[number].detail["case"] for number in (0, 1)] == [NEXT, LAST]
    assert wired.holding(EndMark(), in_cross()) == {2}
    assert wired.verdicts(EndMark(), in_cross())[2].detail["case"] == MARK


def test_heads_of_images_have_offsets_in_two_dimensions() -> None:
    sample = image_sample(subject("vision")[0], 80)
    assert sample.readings[0].grid == (2, 2)
    to_the_right = wired.pointing_at(lambda *_: {1: [2], 3: [4]})
    seen = wired.scene(sample, "encoder", [to_the_right, *RANDOM])
    found = wired.verdicts(Positional(), seen)
    assert found[0].detail["case"] == "0 +1" and found[0].score == 1.0
    assert wired.holding(Positional(), seen) == {0}


def test_a_head_that_stays_within_one_patch_is_local() -> None:
    sample = image_sample(wired.looker(), 60)
    assert sample.readings[0].grid == (4, 4)

    def near(reading: Reading, bank: str) -> dict[int, list[int]]:
        del bank
        return {1 + patch: [1 + wired.a_neighbour(patch, 4, reading.index)] for patch in range(16)}

    seen = wired.scene(sample, "encoder", [wired.pointing_at(near), *RANDOM])
    assert wired.holding(Neighbourhood(), seen) == {0}
    assert wired.verdicts(Neighbourhood(), seen)[0].baseline == pytest.approx(100 / 256)
    assert wired.holding(Positional(), seen) == set()


def test_random_heads_have_no_role_at_all() -> None:
    many = [wired.random_of(seed) for seed in range(20, 30)]
    for sample, bank in ((wired.trees(), "encoder"), (wired.told(), "decoder")):
        seen = wired.scene(sample, bank, many)
        for role in all_roles():
            if bank in role.banks and role.tally(sample, bank) is not None:
                assert wired.holding(role, seen) == set(), role.key
