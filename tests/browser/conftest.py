"""A running app and a browser that may not leave this machine."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, Request, expect, sync_playwright

from tools.app_server import BROWSER_FLAGS, running_app

PATIENCE = 60_000  # milliseconds, for a busy machine
expect.set_options(timeout=PATIENCE)


@pytest.fixture(scope="session")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a fresh server."""
    with running_app(tmp_path_factory.mktemp("server") / "log") as address:
        yield address


@pytest.fixture(scope="session")
def browser(chromium_path: str | None) -> Iterator[Browser]:
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=chromium_path, args=BROWSER_FLAGS)
        yield launched
        launched.close()


@pytest.fixture
def page(browser: Browser, address: str) -> Iterator[Page]:
    """A page in a fresh profile; a request that leaves the machine fails the test."""
    context: BrowserContext = browser.new_context(viewport={"width": 1440, "height": 900})
    opened = context.new_page()
    opened.set_default_timeout(PATIENCE)
    left: list[str] = []
    opened.on("request", lambda request: left.append(request.url) if _leaves(request, address) else None)
    yield opened
    context.close()
    assert left == [], "requests that left the machine"


def _leaves(request: Request, address: str) -> bool:
    host = address.removeprefix("http://")
    return not request.url.startswith((address, f"ws://{host}", "data:", "blob:", "about:"))
