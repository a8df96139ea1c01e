"""A running app and a browser that may not leave this machine."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, Request, ViewportSize, expect, sync_playwright

from headscope.runs.client import submit, wait
from headscope.runs.data_dir import write_whole
from headscope.runs.kind import Kind
from headscope.runs.kinds.evaluation import EvaluationRun
from headscope.runs.kinds.facts import FactsQuery
from headscope.runs.kinds.importance import ImportanceRun
from headscope.runs.kinds.methods import MethodsQuery, code_mark
from headscope.runs.policy.users import entry
from headscope.runs.run import DONE
from headscope.runs.store import Store
from tools.app_server import BROWSER_FLAGS, AppServer, shared_server

PATIENCE = 60_000  # milliseconds, for a busy machine
LIMIT = 600  # seconds that a test may take before it counts as stuck
POLICY = "Content Security Policy"
HERE = (*(f"{scheme}://127.0.0.1:" for scheme in ("http", "https", "ws", "wss")), "data:", "blob:", "about:")
SLOTS = "2"
"""Long runs at once, so that no test waits for that of another."""

PASSWORD = "correct horse battery"
USERS = ("ada", "bob", "cara", "dan")
SCREEN: ViewportSize = {"width": 1440, "height": 900}
expect.set_options(timeout=PATIENCE)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A browser on a busy machine may be slow."""
    for item in items:
        if item.get_closest_marker("browser"):
            item.add_marker(pytest.mark.timeout(LIMIT), append=False)


@pytest.fixture(scope="session")
def server(shared_folder: Path) -> Iterator[AppServer]:
    """The one server of all tests that leave it as it is; what one test computed, another finds in its store."""
    with shared_server(shared_folder / "open", ask_first_questions, {"HEADSCOPE_SLOTS": SLOTS}) as started:
        yield started


@pytest.fixture(scope="session")
def closed(shared_folder: Path) -> Iterator[AppServer]:
    """A server that asks for a password and trusts its proxy; each user has runs of their own."""
    environment = {"HEADSCOPE_LOGIN": "password", "FORWARDED_ALLOW_IPS": "*"}
    with shared_server(shared_folder / "closed", add_users, environment) as started:
        yield started


@pytest.fixture(scope="session")
def shared_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same for every process of pytest-xdist."""
    own = tmp_path_factory.getbasetemp()
    return own.parent if "PYTEST_XDIST_WORKER" in os.environ else own


def ask_first_questions(home: Path) -> None:
    """What every page of the two models asks first is answered before, so that no test waits for a worker to start."""
    store = Store(home)
    kinds: list[Kind] = [MethodsQuery("", code_mark())]
    kinds += [kind(model) for model in ("looker", "translator") for kind in (FactsQuery, ImportanceRun)]
    for run in [submit(store, kind) for kind in kinds]:
        assert wait(store, run, LIMIT).state == DONE


def add_users(home: Path) -> None:
    """Ada has a run, though a cancelled one."""
    write_whole(home / "users", "".join(f"{entry(name, PASSWORD)}\n" for name in USERS).encode())
    store = Store(home, "ada")
    store.cancel(store.submit(EvaluationRun("looker", n=4).as_run(home)).id)  # one that no worker has to compute


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
    """Opens pages, each in a fresh profile."""
    contexts: list[BrowserContext] = []
    with watched() as watch:

        def opened(**options: object) -> Page:
            context = browser.new_context(**({"viewport": SCREEN} | options))
            contexts.append(context)
            page = context.new_page()
            watch(page)
            return page

        try:
            yield opened
        finally:
            for context in contexts:
                context.close()


@contextmanager
def watched() -> Iterator[Callable[[Page], None]]:
    """Watches pages: a request that leaves the machine, or what the headers forbid, fails the test."""
    left: list[str] = []
    against: list[str] = []

    def watch(page: Page) -> None:
        page.set_default_timeout(PATIENCE)
        page.on("request", lambda request: left.append(request.url) if _leaves(request) else None)
        page.on("console", lambda said: against.append(said.text) if POLICY in said.text else None)

    yield watch
    assert left == [], "requests that left the machine"
    assert against == [], "what the server's own headers forbid"


@pytest.fixture(scope="session")
def profile(browser: Browser) -> Iterator[BrowserContext]:
    """One profile for all tests that need none of their own: it has loaded the scripts of the pages already."""
    context = browser.new_context(viewport=SCREEN)
    yield context
    context.close()


@pytest.fixture
def page(profile: BrowserContext) -> Iterator[Page]:
    """A page that knows nothing of the tests before it."""
    profile.clear_cookies()
    with watched() as watch:
        opened = profile.new_page()
        watch(opened)
        yield opened
        forget_everything(opened)
        opened.close()


def forget_everything(page: Page) -> None:
    """Empties what the server of the page has stored in the browser, but for its scripts."""
    if page.url.startswith("http"):
        origin = "/".join(page.url.split("/")[:3])
        page.context.new_cdp_session(page).send(
            "Storage.clearDataForOrigin", {"origin": origin, "storageTypes": "cookies,local_storage,indexeddb"}
        )


def _leaves(request: Request) -> bool:
    return not request.url.startswith(HERE)
