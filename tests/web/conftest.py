"""What several tests of pages look at."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.runtime.scriptrunner_utils.script_run_context import ScriptRunContext

from headscope.runs.execution import workers
from headscope.runs.execution.process import Identity


@pytest.fixture(scope="session", autouse=True)
def started() -> Iterator[list[str]]:
    """The workers that pages wanted; none is started, for it would outlive the test and compute beside all others."""
    wanted: list[str] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(workers, "_start", lambda _, place: wanted.append(place) or Identity.own())
        yield wanted


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
