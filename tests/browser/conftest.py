"""A running app and a browser that may not leave this machine."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, Request, ViewportSize, expect, sync_playwright

from tools.app_server import BROWSER_FLAGS, AppServer, running_server

PATIENCE = 60_000  # milliseconds, for a busy machine
LIMIT = 600  # seconds that a test may take before it counts as stuck
POLICY = "Content Security Policy"
HERE = (*(f"{scheme}://127.0.0.1:" for scheme in ("http", "https", "ws", "wss")), "data:", "blob:", "about:")
SCREEN: ViewportSize = {"width": 1440, "height": 900}
expect.set_options(timeout=PATIENCE)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A browser on a busy machine may be slow."""
    for item in items:
        if item.get_closest_marker("browser"):
            item.add_marker(pytest.mark.timeout(LIMIT), append=False)


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AppServer]:
    """A server with a store of its own, for the tests that leave it as it is."""
    with running_server(tmp_path_factory.mktemp("server") / "home") as started:
        yield started


@pytest.fixture(scope="session")
def address(server: AppServer) -> str:
    return server.address


@pytest.fixture(scope="session")
def browser(chromium_path: str | None) -> Iterator[Browser]:
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=chromium_path, args=BROWSER_FLAGS)
        yield launched
        launched.close()


@pytest.fixture
def open_page(browser: Browser) -> Iterator[Callable[..., Page]]:
    """Opens pages for one test, each in a fresh profile."""
    with opening(browser) as opened:
        yield opened


@contextmanager
def opening(browser: Browser) -> Iterator[Callable[..., Page]]:
    """Opens pages, each in a fresh profile; a request that leaves the machine fails the test, or against the policy."""
    contexts: list[BrowserContext] = []
    left: list[str] = []
    against: list[str] = []

    def opened(**options: object) -> Page:
        context = browser.new_context(**({"viewport": SCREEN} | options))
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(PATIENCE)
        page.on("request", lambda request: left.append(request.url) if _leaves(request) else None)
        page.on("console", lambda said: against.append(said.text) if POLICY in said.text else None)
        return page

    try:
        yield opened
    finally:
        for context in contexts:
            context.close()
    assert left == [], "requests that left the machine"
    assert against == [], "what the server's own headers forbid"


@pytest.fixture
def page(open_page: Callable[..., Page]) -> Page:
    return open_page()


def _leaves(request: Request) -> bool:
    return not request.url.startswith(HERE)
