"""Takes files home as a patient person does."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from playwright.sync_api import Download, Locator, Page, TimeoutError

PATIENCE = (30_000, 60_000, 120_000)
"""Milliseconds that each try may take."""


def downloaded(page: Page, button: Locator) -> Path:
    """The file that a button gives."""
    return Path(download_of(page, button).path())


def download_of(page: Page, button: Locator) -> Download:
    """What comes of a button; a click that was lost because the page was just drawn anew is made again."""
    for patience in PATIENCE:
        with suppress(TimeoutError):
            with page.expect_download(timeout=patience) as started:
                button.click(timeout=patience)
            if started.value.failure() is None:
                return started.value
    raise AssertionError(f"no file came in {len(PATIENCE)} tries")
