"""What was seen travels as bytes and comes back exactly."""

from __future__ import annotations

import io

import numpy as np
import pytest

from headscope.analysis.attention.example import Example
from headscope.analysis.attention.example_run import see
from headscope.analysis.attention.npz import from_npz, to_npz
from headscope.models.heads import HeadId
from headscope.pruning.masks import HeadMask
from headscope.pruning.surgery import without_heads
from headscope.specimens.shipped import load
from tests.tasks.tiny import tiny


def translated():
    head_model = tiny("marian")
    emptied = HeadMask(head_model.grid, frozenset(head_model.grid.layer("cross", 1)) | {HeadId("encoder", 0, 2)})
    return see(without_heads(head_model, emptied), Example("w1 w2"), frozenset({HeadId("decoder", 2, 1)}))


SEEN = {
    "reader": lambda: see(load("reader"), Example('A "dog" </script> ☃ \\', "é")),
    "looker": lambda: see(load("looker"), Example(image=2)),
    "translator": translated,
}


@pytest.mark.parametrize("name", SEEN)
def test_everything_comes_back_exactly(name):
    seen = SEEN[name]()
    back = from_npz(to_npz(seen))
    assert (back.model, back.removed, back.answer, back.pair_start) == (
        seen.model,
        seen.removed,
        seen.answer,
        seen.pair_start,
    )
    for one, other in zip(seen.banks, back.banks, strict=True):
        assert (one.bank, one.queries, one.keys, one.n_heads) == (other.bank, other.queries, other.keys, other.n_heads)
        for layer, again in zip(one.layers, other.layers, strict=True):
            assert layer.heads == again.heads and layer.maps.dtype == again.maps.dtype
            np.testing.assert_array_equal(layer.maps, again.maps)
    assert (seen.picture is None) == (back.picture is None)
    if seen.picture is not None:
        np.testing.assert_array_equal(seen.picture.pixels, back.picture.pixels)
        sizes = [(picture.rows, picture.columns, picture.n_before) for picture in (seen.picture, back.picture)]
        assert sizes[0] == sizes[1]


def test_the_bytes_hold_no_pickle():
    with np.load(io.BytesIO(to_npz(translated())), allow_pickle=False) as file:
        assert all(file[name].dtype != object for name in file.files)


def pickled() -> bytes:
    file = io.BytesIO()
    np.savez(file, record=np.array([{"a": 1}], dtype=object))
    return file.getvalue()


@pytest.mark.parametrize("content", [b"", b"not an archive", pickled(), to_npz(translated())[:-40]])
def test_other_bytes_are_refused(content):
    with pytest.raises(ValueError, match=f"{len(content)} bytes that are not what was seen"):
        from_npz(content)
