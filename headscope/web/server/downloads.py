"""Keeps a file behind a download button for a while after Streamlit would throw it away.

When a page is drawn anew, Streamlit first forgets which files it offered; when another session ends its turn before the
buttons are there again, the files are gone, and a browser that asks for one gets an error. A slow server makes that
moment long.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from streamlit.runtime import memory_media_file_storage
from streamlit.runtime.media_file_storage import MediaFileKind
from streamlit.runtime.memory_media_file_storage import MemoryMediaFileStorage

SECONDS_KEPT = 120.0
"""About what a page may take until it is drawn, on a server with more to do than it can."""


class PatientStorage(MemoryMediaFileStorage):
    """Streamlit's own storage of files, but what it deletes stays until its time is over.

    Files are deleted and added by Streamlit's manager alone, one at a time.
    """

    def __init__(self, media_endpoint: str, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(media_endpoint)
        self._clock = clock
        self._going: dict[str, float] = {}
        """When each of the deleted files goes, the first first."""

    def load_and_get_id(
        self, path_or_data: str | bytes, mimetype: str, kind: MediaFileKind, filename: str | None = None
    ) -> str:
        """Takes a file, which then is no longer about to go."""
        file_id = super().load_and_get_id(path_or_data, mimetype, kind, filename)
        self._going.pop(file_id, None)
        self._let_go()
        return file_id

    def delete_file(self, file_id: str) -> None:
        """Notes that the file may go."""
        self._going.setdefault(file_id, self._clock() + SECONDS_KEPT)
        self._let_go()

    def _let_go(self) -> None:
        """Deletes the files whose time is over."""
        now = self._clock()
        for file_id in [file_id for file_id, end in self._going.items() if end <= now]:
            del self._going[file_id]
            super().delete_file(file_id)


def keep_downloads() -> None:
    """Has every server that starts from now on keep its files like this."""
    memory_media_file_storage.MemoryMediaFileStorage = PatientStorage  # type: ignore[misc]
