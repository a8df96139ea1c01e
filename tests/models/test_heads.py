from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headscope.models.heads import BANKS, HeadBank, HeadGrid, HeadId, LayerHeads

GRID = HeadGrid(
    (
        HeadBank("encoder", (LayerHeads((0, 1, 2)), LayerHeads((0, 1)))),
        HeadBank("cross", (LayerHeads((0, 0, 1, 1)),)),
    )
)


@given(st.builds(HeadId, st.sampled_from(BANKS), st.integers(0, 999), st.integers(0, 999)))
def test_an_address_survives_being_written_as_text(head: HeadId) -> None:
    assert HeadId.parse(str(head)) == head


@pytest.mark.parametrize("text", ["", "encoder", "encoder.1", "encoder.1.x", "encoder.-1.2", "Encoder.1.2", "a.1.2"])
def test_what_is_no_address_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(ValueError, match=r"no head address .*encoder\.3\.7"):
        HeadId.parse(text)


def test_the_order_is_bank_after_bank_and_layer_after_layer() -> None:
    assert [str(head) for head in GRID] == [
        *("encoder.0.0", "encoder.0.1", "encoder.0.2", "encoder.1.0", "encoder.1.1"),
        *("cross.0.0", "cross.0.1", "cross.0.2", "cross.0.3"),
    ]
    assert all(GRID.heads[GRID.positions[head]] == head for head in GRID)


def test_a_grid_describes_uneven_layers() -> None:
    assert GRID.describe() == "encoder 2 x 2 to 3, cross 1 x 4"


def test_an_unknown_head_or_bank_says_what_there_is() -> None:
    with pytest.raises(KeyError, match=r"no head decoder\.0\.0 in this model; it has encoder 2 x 2 to 3, cross 1 x 4"):
        GRID.check(HeadId("decoder", 0, 0))
    with pytest.raises(KeyError, match="no bank 'decoder'; this model has: encoder, cross"):
        GRID.bank("decoder")
