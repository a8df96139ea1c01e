"""A mask in a link: short whatever the size of the model, and readable addresses are understood too."""

from __future__ import annotations

import base64
import binascii

import streamlit as st

from headscope.models.heads import HeadGrid, HeadId

MARK = "~"
"""Begins the short form: the heads of the grid as bits, in base 64 for addresses."""


def short_mask(grid: HeadGrid, heads: frozenset[HeadId]) -> str:
    """The heads as a few letters."""
    bits = sum(1 << place for place, head in enumerate(grid) if head in heads)
    raw = bits.to_bytes((len(grid) + 7) // 8, "little").rstrip(b"\0")
    return MARK + base64.urlsafe_b64encode(raw).decode().rstrip("=") if heads else ""


def read_mask(grid: HeadGrid, text: str) -> frozenset[HeadId]:
    """The heads that `short_mask` spelt, or that addresses name; a ValueError or KeyError for anything else."""
    if not text.startswith(MARK):
        return grid.parse(text)
    letters = text.removeprefix(MARK)
    try:
        raw = base64.b64decode(letters + "=" * (-len(letters) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError) as error:
        raise ValueError(
            f"no mask {text[:40]!r}; allowed are addresses such as encoder.0.3, or a shared link"
        ) from error
    bits = int.from_bytes(raw, "little")
    if bits >> len(grid):
        raise ValueError(f"a mask for a larger model; this one has {grid.describe()}")
    return frozenset(head for place, head in enumerate(grid) if bits >> place & 1)


def mask_in_link(grid: HeadGrid) -> frozenset[HeadId]:
    """The mask that the link of the page holds."""
    return read_mask(grid, st.query_params.get("mask", ""))


def put_mask(grid: HeadGrid, heads: frozenset[HeadId]) -> None:
    """Makes the mask part of the link."""
    if heads:
        st.query_params["mask"] = short_mask(grid, heads)
    elif "mask" in st.query_params:
        del st.query_params["mask"]
