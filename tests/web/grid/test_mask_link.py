from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headscope.models.heads import HeadBank, HeadGrid, LayerHeads
from headscope.web.grid.mask_link import read_mask, short_mask

GRID = HeadGrid(
    (
        HeadBank("encoder", (LayerHeads(tuple(range(8))),) * 6),
        HeadBank("cross", (LayerHeads((0, 0, 1)), LayerHeads(()), LayerHeads(tuple(range(5))))),
    )
)


@given(st.sets(st.sampled_from(GRID.heads)))
def test_a_mask_comes_back_from_its_short_form(heads: set) -> None:
    assert read_mask(GRID, short_mask(GRID, frozenset(heads))) == frozenset(heads)


def test_the_short_form_is_short_whatever_the_mask() -> None:
    assert len(short_mask(GRID, frozenset(GRID.heads))) <= 1 + len(GRID) / 6 + 2
    assert short_mask(GRID, frozenset()) == ""


def test_addresses_are_understood_as_well() -> None:
    assert read_mask(GRID, "encoder.0.1, cross.2.4") == GRID.parse("encoder.0.1 cross.2.4")


def test_two_different_masks_have_different_links() -> None:
    links = {short_mask(GRID, frozenset({head})) for head in GRID}
    assert len(links) == len(GRID)


@pytest.mark.parametrize("text", ["~", "~!!!", "~é", "nonsense", "encoder.99.0", "~" + "_" * 40, "~AB=C"])
def test_what_is_no_mask_of_this_model_is_refused_in_one_sentence_or_empty(text: str) -> None:
    if text == "~":
        assert read_mask(GRID, text) == frozenset()
        return
    with pytest.raises((ValueError, KeyError)) as refused:
        read_mask(GRID, text)
    assert "\n" not in str(refused.value.args[0])
