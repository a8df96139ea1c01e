from __future__ import annotations

import pytest

from headscope.models.pausing import may_pause, pausing


def test_a_pause_is_called_inside_its_context_alone_and_the_inner_one_goes_first() -> None:
    called: list[str] = []
    may_pause()
    with pausing(lambda: called.append("outer")):
        may_pause()
        with pausing(lambda: called.append("inner")):
            may_pause()
        may_pause()
    may_pause()
    assert called == ["outer", "inner", "outer"]


def test_a_pause_that_raises_leaves_no_pause_behind() -> None:
    def leave() -> None:
        raise InterruptedError

    with pytest.raises(InterruptedError), pausing(leave):
        may_pause()
    may_pause()
