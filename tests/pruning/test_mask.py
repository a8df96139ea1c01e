from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from headscope.models.heads import HeadBank, HeadGrid, LayerHeads
from headscope.pruning.masks import HeadMask

GRID = HeadGrid((HeadBank("encoder", (LayerHeads((0, 1, 2, 3)),) * 3), HeadBank("cross", (LayerHeads((0, 1)),))))
OTHER = HeadGrid((HeadBank("encoder", (LayerHeads((0, 1)),)),))
masks = st.frozensets(st.sampled_from(GRID.heads)).map(lambda removed: HeadMask(GRID, removed))


@given(masks)
def test_a_mask_survives_json_and_text(mask: HeadMask) -> None:
    assert HeadMask.from_json(GRID, mask.to_json()) == mask
    assert HeadMask.of(GRID, str(mask)) == mask
    assert HeadMask.of(GRID, str(mask).replace(" ", ", ")) == mask


@given(masks, masks)
def test_masks_obey_the_laws_of_sets(one: HeadMask, other: HeadMask) -> None:
    assert ~~one == one
    assert ~(one | other) == ~one & ~other
    assert one - other == one & ~other
    assert len(one | other) + len(one & other) == len(one) + len(other)
    assert hash(one | other) == hash(other | one)


@given(masks)
def test_gates_are_zero_exactly_where_a_head_is_removed(mask: HeadMask) -> None:
    gates = mask.as_gates()
    assert [head for head, gate in zip(GRID, gates.tolist(), strict=True) if gate == 0] == sorted_heads(mask)
    assert torch.equal(gates + (~mask).as_gates(), torch.ones(len(GRID)))


def test_pruning_and_restoring_make_new_masks() -> None:
    empty = HeadMask(GRID)
    one = empty.prune(GRID.heads[3])
    assert (len(empty), len(one)) == (0, 1)
    assert one.restore(GRID.heads[3]) == empty


def test_a_head_that_is_not_there_is_refused() -> None:
    with pytest.raises(KeyError, match=r"no head encoder.7.0 in this model; it has encoder 3 x 4, cross 1 x 2"):
        HeadMask.of(GRID, "encoder.0.1 encoder.7.0")


def test_masks_of_two_models_do_not_mix() -> None:
    with pytest.raises(ValueError, match="masks of two different models: encoder 3 x 4, cross 1 x 2 and encoder 1 x 2"):
        HeadMask(GRID) | HeadMask(OTHER)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "not a mask"),
        ("[]", "not a mask"),
        ("{}", "not a mask"),
        ('{"grid": "encoder 1 x 2", "removed": []}', "a mask for encoder 1 x 2; this model has encoder 3 x 4"),
        ('{"grid": "encoder 3 x 4, cross 1 x 2", "removed": "encoder.0.1"}', "allowed is a list"),
        ('{"grid": "encoder 3 x 4, cross 1 x 2", "removed": [1]}', "allowed is a list"),
        ('{"grid": "encoder 3 x 4, cross 1 x 2", "removed": ["x"]}', "no head address 'x'"),
    ],
)
def test_json_that_is_no_mask_of_this_model_is_refused(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        HeadMask.from_json(GRID, text)


def sorted_heads(mask: HeadMask) -> list[object]:
    return [head for head in GRID if head in mask]
