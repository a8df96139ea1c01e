from __future__ import annotations

from headscope.models.heads import HeadBank, HeadGrid, HeadId, LayerHeads
from headscope.web.grid.presets import inverted, least_important, of_role, random_heads

GRID = HeadGrid((HeadBank("encoder", (LayerHeads((0, 1, 2)), LayerHeads((0, 1, 2)))),))
FIRST, SECOND = HeadId("encoder", 0, 0), HeadId("encoder", 0, 1)


def test_the_least_important_go_first_and_ties_follow_the_grid() -> None:
    scores = dict.fromkeys(GRID, 1.0) | {HeadId("encoder", 1, 2): -3.0, HeadId("encoder", 1, 0): 0.5}
    assert GRID.spell(least_important(GRID, scores, 4)) == "encoder.0.0 encoder.0.1 encoder.1.0 encoder.1.2"
    assert least_important(GRID, scores, 0) == frozenset()


def test_random_heads_are_exactly_so_many_and_follow_their_seed() -> None:
    drawn = [random_heads(GRID.heads, 3, seed) for seed in range(20)]
    assert {len(heads) for heads in drawn} == {3}
    assert drawn[4] == random_heads(GRID.heads[::-1], 3, 4)
    assert len(set(drawn)) > 5


def test_inverting_twice_changes_nothing() -> None:
    mask = frozenset({FIRST})
    assert inverted(GRID.heads, inverted(GRID.heads, mask)) == mask
    assert FIRST not in inverted(GRID.heads, mask)


def test_heads_of_a_role_are_those_with_a_verdict() -> None:
    roles = {"positional": {str(FIRST): {"verdict": True}, str(SECOND): {"verdict": False}}}
    assert of_role(roles, "positional") == frozenset({FIRST})
