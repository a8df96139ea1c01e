"""A file behind a button outlives the moment in which no session names it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from streamlit.runtime import media_file_manager
from streamlit.runtime.media_file_manager import MediaFileManager
from streamlit.runtime.memory_media_file_storage import MemoryMediaFileStorage

from headscope.web.server.downloads import SECONDS_KEPT, PatientStorage

ROOT = Path(__file__).parents[3]


class Sessions:
    """Streamlit's manager of files, as sessions use it, with a clock of our own."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.now = 0.0
        self.storage: MemoryMediaFileStorage = PatientStorage("/media", lambda: self.now)
        self.manager = MediaFileManager(self.storage)
        self.session = ""
        patch.setattr(media_file_manager, "_get_session_id", lambda: self.session)

    def draw(self, session: str, *, begun: bool = False, data: bytes = b"heads,left\n") -> str:
        """A turn of a session whose page offers a file, or only the beginning of that turn; gives its address."""
        self.session = session
        self.manager.clear_session_refs()
        if begun:
            return ""
        address = self.manager.add(data, "text/csv", "0.1", "heads.csv", is_for_static_download=True)
        self.manager.remove_orphaned_files()
        return address

    def is_there(self, address: str) -> bool:
        return self.manager.read_file(address.removeprefix("/media/")) is not None


@pytest.fixture
def sessions(monkeypatch: pytest.MonkeyPatch) -> Iterator[Sessions]:
    yield Sessions(monkeypatch)


def redrawn_beside_others(sessions: Sessions) -> bool:
    """Whether a file is there while its page is drawn anew and other sessions end their turns."""
    address = sessions.draw("ada")
    sessions.draw("ada", begun=True)
    for other in ("ben", "cleo", "ben"):
        sessions.draw(other, data=other.encode())
    return sessions.is_there(address)


def test_streamlit_alone_loses_the_file(sessions: Sessions) -> None:
    sessions.manager = MediaFileManager(MemoryMediaFileStorage("/media"))
    assert not redrawn_beside_others(sessions), (
        "Streamlit keeps it by itself now: headscope/web/server/downloads.py can go"
    )


def test_the_file_is_kept_while_its_page_is_drawn_anew(sessions: Sessions) -> None:
    assert redrawn_beside_others(sessions)


def test_a_file_that_nobody_offers_any_more_goes_after_its_time(sessions: Sessions) -> None:
    address = sessions.draw("ada")
    sessions.draw("ada", data=b"another")
    sessions.draw("ada", data=b"another")
    sessions.now += SECONDS_KEPT - 1
    sessions.draw("ben", data=b"ben")
    assert sessions.is_there(address)
    sessions.now += 1
    sessions.draw("ben", data=b"ben")
    assert not sessions.is_there(address)


def test_a_file_that_is_offered_again_stays(sessions: Sessions) -> None:
    assert redrawn_beside_others(sessions)
    address = sessions.draw("ada")
    sessions.now += 2 * SECONDS_KEPT
    sessions.draw("ben", data=b"ben")
    assert sessions.is_there(address)


def test_the_server_keeps_its_files_like_this() -> None:
    asked = "from headscope.web.app.asgi import app; s = app._create_runtime().media_file_mgr._storage; "
    asked += "print(type(s).__name__)"
    told = subprocess.run([sys.executable, "-c", asked], cwd=ROOT, capture_output=True, text=True, check=True)
    assert told.stdout.strip() == "PatientStorage"
