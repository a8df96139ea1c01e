"""The masks of an editing session, one after the other, with a way back and forth."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import accumulate

from headscope.models.heads import HeadId
from headscope.web.grid.head_grid import MaskEdit

LONGEST = 500
"""Masks that are remembered."""


@dataclass(frozen=True)
class MaskHistory:
    """What is switched off now, and what was before and, after going back, what comes again."""

    edit: MaskEdit = field(default_factory=MaskEdit)
    before: tuple[frozenset[HeadId], ...] = ()
    after: tuple[frozenset[HeadId], ...] = ()

    @property
    def mask(self) -> frozenset[HeadId]:
        """What is switched off now."""
        return self.edit.mask

    def edited(self, edit: MaskEdit) -> MaskHistory:
        """After the user's own hand in the grid; clicks that came at once are as many steps."""
        if edit.mask == self.mask:
            return replace(self, edit=edit)
        history = self
        for mask in self._on_the_way(edit):
            history = history._then(MaskEdit(mask, edit.revision))
        return history._then(edit)

    def replaced(self, mask: frozenset[HeadId]) -> MaskHistory:
        """After a preset, a link, or anything else that sets the whole mask."""
        return self if mask == self.mask else self._then(self.edit.replaced(mask))

    def undone(self) -> MaskHistory:
        """One step back, exactly as it was."""
        if not self.before:
            return self
        return MaskHistory(self.edit.replaced(self.before[-1]), self.before[:-1], (self.mask, *self.after))

    def redone(self) -> MaskHistory:
        """One step forth again."""
        if not self.after:
            return self
        return MaskHistory(self.edit.replaced(self.after[0]), (*self.before, self.mask), self.after[1:])

    def _on_the_way(self, edit: MaskEdit) -> list[frozenset[HeadId]]:
        """The masks between this one and the edited one, as far as the browser tells its single steps."""
        known = len(self.edit.steps)
        if edit.revision != self.edit.revision or edit.steps[:known] != self.edit.steps:
            return []
        masks = [*accumulate(edit.steps[known:], frozenset.symmetric_difference, initial=self.mask)][1:]
        return masks[:-1] if masks and masks[-1] == edit.mask else []

    def _then(self, edit: MaskEdit) -> MaskHistory:
        return MaskHistory(edit, (*self.before, self.mask)[-LONGEST:])
