"""The masks of the Prune Lab: what is switched off now, kept in the session and in the link."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import streamlit as st

from headscope.models.heads import HeadGrid, HeadId
from headscope.web.grid.mask_history import MaskHistory
from headscope.web.grid.mask_link import mask_in_link, put_mask
from headscope.web.page.choice import Choice

KEPT = "lab-history"
"""Where the session keeps the model and the masks."""


@dataclass(frozen=True)
class Lab:
    """A model in the Prune Lab; the masks themselves are in the session, so that all parts of the page see the same."""

    choice: Choice
    grid: HeadGrid
    removed: frozenset[HeadId]

    @classmethod
    def open(cls, choice: Choice, grid: HeadGrid, removed: frozenset[HeadId]) -> Lab:
        """A new session, or another model, begins with the mask of the link."""
        lab = cls(choice, grid, removed)
        model, masks = st.session_state.get(KEPT, ("", MaskHistory()))
        if model != choice.model:
            lab.keep(MaskHistory(masks.edit.replaced(mask_in_link(grid) - removed)))
        return lab

    @property
    def history(self) -> MaskHistory:
        """All masks so far."""
        masks: MaskHistory = st.session_state[KEPT][1]
        return masks

    @property
    def mask(self) -> frozenset[HeadId]:
        """What is switched off now."""
        return self.history.mask

    @property
    def spelt(self) -> str:
        """The same as addresses."""
        return self.grid.spell(self.mask)

    @property
    def heads(self) -> tuple[HeadId, ...]:
        """Those that the model still has."""
        return tuple(head for head in self.grid if head not in self.removed)

    def keep(self, masks: MaskHistory) -> None:
        """Remembers where the session is, and puts the mask into the link."""
        st.session_state[KEPT] = self.choice.model, masks
        put_mask(self.grid, masks.mask)

    def put(self, mask: frozenset[HeadId], then: Callable[[], None]) -> None:
        """Another mask as a whole: a preset, a budget, a point of a curve."""
        self.keep(self.history.replaced(mask - self.removed))
        then()

    def go(self, way: str, then: Callable[[], None]) -> None:
        """`undone` or `redone`."""
        self.keep(getattr(self.history, way)())
        then()
