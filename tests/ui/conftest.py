"""What several tests of pages look at."""

from __future__ import annotations

import pytest
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.runtime.scriptrunner_utils.script_run_context import ScriptRunContext


@pytest.fixture
def intervals(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """After how many seconds each part of a page runs again."""
    noted: list[float] = []
    enqueue = ScriptRunContext.enqueue

    def note(self: ScriptRunContext, message: ForwardMsg) -> None:
        if message.HasField("auto_rerun"):
            noted.append(message.auto_rerun.interval)
        enqueue(self, message)

    monkeypatch.setattr(ScriptRunContext, "enqueue", note)
    return noted
