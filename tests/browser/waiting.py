"""Waits for what no locator can tell."""

from __future__ import annotations

import time
from collections.abc import Callable

from playwright.sync_api import Page

PATIENCE = 300
"""Seconds, for a busy machine."""


def eventually(page: Page, found: Callable[[], object], wanted: object) -> None:
    """Returns once what is found is what is wanted; the browser goes on meanwhile. Fails after five minutes."""
    until = time.monotonic() + PATIENCE
    while found() != wanted and time.monotonic() < until:
        page.wait_for_timeout(200)
    assert found() == wanted
