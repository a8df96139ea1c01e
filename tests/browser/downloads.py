"""Takes files home."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import Download, Locator, Page

PATIENCE = 120_000
"""Milliseconds, for a busy machine."""


def downloaded(page: Page, button: Locator) -> Path:
    """The file that a button gives."""
    return Path(download_of(page, button).path())


def download_of(page: Page, button: Locator) -> Download:
    """What comes of one click."""
    with page.expect_download(timeout=PATIENCE) as started:
        button.click()
    assert started.value.failure() is None
    return started.value
