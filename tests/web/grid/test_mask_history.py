from __future__ import annotations

import random

from headscope.models.heads import HeadId
from headscope.web.grid.head_grid import MaskEdit
from headscope.web.grid.mask_history import LONGEST, MaskHistory

HEADS = [HeadId("encoder", layer, head) for layer in range(3) for head in range(4)]


def test_undo_after_a_preset_restores_exactly_the_mask_before_it() -> None:
    by_hand = MaskHistory().edited(MaskEdit(frozenset(HEADS[:3])))
    after = by_hand.replaced(frozenset(HEADS[5:]))
    assert after.mask == frozenset(HEADS[5:])
    assert after.undone().mask == frozenset(HEADS[:3])
    assert after.undone().redone().mask == frozenset(HEADS[5:])


def test_every_change_that_python_makes_raises_the_revision_so_that_the_browser_takes_it() -> None:
    history = MaskHistory().edited(MaskEdit(frozenset(HEADS[:1])))
    for changed in (history.replaced(frozenset()), history.undone(), history.undone().redone()):
        assert changed.edit.revision > 0
    assert history.edit.revision == 0


def test_any_number_of_steps_can_be_taken_back_and_forth_again() -> None:
    chance = random.Random(0)
    history, seen = MaskHistory(), [frozenset()]
    for _ in range(50):
        mask = frozenset(chance.sample(HEADS, chance.randint(0, len(HEADS))))
        history = (
            history.replaced(mask) if chance.random() < 0.5 else history.edited(MaskEdit(mask, history.edit.revision))
        )
        if mask != seen[-1]:
            seen.append(mask)
    for expected in reversed(seen[:-1]):
        history = history.undone()
        assert history.mask == expected
    assert history.undone() == history
    for expected in seen[1:]:
        history = history.redone()
        assert history.mask == expected
    assert history.redone() == history


def test_a_new_change_forgets_what_was_taken_back() -> None:
    history = MaskHistory().replaced(frozenset(HEADS[:1])).replaced(frozenset(HEADS[:2])).undone()
    changed = history.edited(MaskEdit(frozenset(HEADS[:5]), history.edit.revision))
    assert changed.after == ()
    assert changed.undone().mask == frozenset(HEADS[:1])


def test_the_same_mask_again_is_no_step() -> None:
    history = MaskHistory().replaced(frozenset(HEADS[:1]))
    assert history.replaced(frozenset(HEADS[:1])) == history
    assert history.edited(history.edit).before == history.before


def test_clicks_that_come_at_once_are_taken_back_one_by_one() -> None:
    clicks = tuple(frozenset({head}) for head in HEADS)
    first = MaskHistory().edited(MaskEdit(frozenset(HEADS[:2]), 0, clicks[:2]))
    history = first.edited(MaskEdit(frozenset(HEADS), 0, clicks))
    for left in reversed(range(len(HEADS))):
        history = history.undone()
        assert history.mask == frozenset(HEADS[:left])
    assert not history.before


def test_steps_that_do_not_lead_to_the_mask_are_no_steps() -> None:
    history = MaskHistory().edited(MaskEdit(frozenset(HEADS[:2]), 0, (frozenset(HEADS[5:]),)))
    assert history.undone().mask == frozenset()
    box = history.edited(MaskEdit(frozenset(HEADS[:6]), 0, (frozenset(HEADS[2:6]),)))
    assert box.undone().mask == frozenset(HEADS[:2])


def test_a_long_session_stays_bounded() -> None:
    history = MaskHistory()
    for step in range(LONGEST + 20):
        history = history.replaced(frozenset(HEADS[step % 2 : 4]))
    assert len(history.before) == LONGEST
