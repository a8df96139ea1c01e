"""A login by OpenID Connect, in a real browser and with a real provider, though a tiny one, on this machine."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Page, expect

from headscope.runs.kinds.evaluation import EvaluationRun
from headscope.runs.store import Store
from headscope.web.page.markdown import JOINER
from headscope.web.page.site_map import MODEL, SITE_MAP
from tests.browser.downloads import download_of
from tests.browser.oidc_provider import CLIENT, KEY, Provider, running_provider
from tests.browser.test_login import cookies, status
from tools.app_server import AppServer, running_server

pytestmark = pytest.mark.browser

PAGES = [one for group in SITE_MAP.values() for one in group]
LINKS = {one.title: "/" if one is MODEL else f"/{one.name}" for one in PAGES}
ADA, BOB = "ada@example.org", "bob@example.org"
REFUSED = {
    "eve@elsewhere.example": "eve@elsewhere.example may not use this server; ask who runs it",
    "unverified": "the provider vouches for no mail address of yours, which is needed here",
}
LIES = {
    "signed by another": {KEY: "another"},
    "for another client": {"aud": "another"},
    "from another provider": {"iss": "https://provider.example"},
    "for another sign-in": {"nonce": "another"},
    "ended": {"exp": 1_000_000_000},
}
ACCOUNTS = {
    ADA: {"email": ADA, "email_verified": True},
    BOB: {"email": BOB, "email_verified": True},
    "eve@elsewhere.example": {"email": "eve@elsewhere.example", "email_verified": True},
    "unverified": {"email": ADA, "email_verified": False},
    **{name: {"email": ADA, "email_verified": True, **lie} for name, lie in LIES.items()},
}
SECRETS = """[auth]
redirect_uri = "http://127.0.0.1:{{port}}/oauth2callback"
cookie_secret = "a secret of thirty-two characters"
client_id = "{client}"
client_secret = "{secret}"
server_metadata_url = "{provider}/.well-known/openid-configuration"
"""


class Closed(NamedTuple):
    """A server that asks a provider who people are."""

    server: AppServer
    provider: Provider
    run: str

    def link(self, path: str) -> str:
        return f"{self.server.address}{path}"


@pytest.fixture(scope="module")
def closed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Closed]:
    """One server for all; Ada has a run, though a cancelled one."""
    folder = tmp_path_factory.mktemp("oidc")
    home = folder / "home"
    home.mkdir()
    store = Store(home, ADA)
    run = store.submit(EvaluationRun("looker", n=4).as_run(home)).id
    store.cancel(run)  # one that nobody has to compute
    with pytest.MonkeyPatch.context() as environment, running_provider(ACCOUNTS) as provider:
        filled = SECRETS.format(client=CLIENT, secret=provider.client_secret, provider=provider.address)
        (folder / "secrets.toml").write_text(filled)
        environment.setenv("STREAMLIT_SECRETS_FILES", str(folder / "secrets.toml"))
        environment.setenv("HEADSCOPE_LOGIN", "oidc")
        environment.setenv("HEADSCOPE_OIDC_ALLOWED", "@example.org")
        with running_server(home) as server:
            provider.redirect_uri = f"{server.address}/oauth2callback"
            yield Closed(server, provider, run)


def sign_in(page: Page, account: str) -> None:
    """What somebody clicks."""
    page.get_by_role("button", name="Sign in").click()
    page.get_by_role("link", name=account).click()


def way_to_the_provider(page: Page, closed: Closed) -> str:
    """The link behind the button, which leads anybody to the provider for the next two minutes."""
    page.goto(closed.link("/runs"))
    with page.expect_request(re.compile("/auth/login")) as asked:
        page.get_by_role("button", name="Sign in").click()
    page.get_by_role("link", name=ADA).wait_for()
    return asked.value.url


def come_back_as(page: Page, way: str, account: str) -> bool:
    """The same way without the pages in between; whether Streamlit knows the browser from now on."""
    chosen = page.request.get(f"{page.request.get(way).url}&{urlencode({'account': account})}")
    assert chosen.ok
    return any(one["name"] == "_streamlit_user" for one in page.context.cookies())


def text_of(page: Page) -> str:
    """All that stands on the page but the link that Streamlit puts on top of every one."""
    return page.locator("body").inner_text().replace("Skip to main content", "").strip()


def expect_only_the_sign_in(page: Page) -> None:
    expect(page.get_by_role("button", name="Sign in")).to_be_visible()
    page.locator('[data-test-script-state="notRunning"]').wait_for()
    assert text_of(page) == "Sign in", page.url


def test_no_link_shows_anything_before_the_sign_in(page: Page, closed: Closed) -> None:
    frames: list[Any] = []
    page.on("websocket", lambda socket: socket.on("framereceived", lambda frame: frames.append(frame)))
    for link in LINKS.values():
        page.goto(closed.link(f"{link}?model=looker&run={closed.run}"))
        expect_only_the_sign_in(page)
    assert any(b"Sign in" in frame for frame in frames)
    kept = (b'class="hl-', closed.run.encode())  # what pages draw; the looks of pages are no secret
    assert [frame for frame in frames if any(one in frame for one in kept)] == []


def test_nobody_sees_the_runs_of_others(page: Page, closed: Closed) -> None:
    assert come_back_as(page, way_to_the_provider(page, closed), BOB)
    page.goto(closed.link(f"/runs?run={closed.run}"))
    expect(page.get_by_text("Nothing was computed yet")).to_be_visible()
    expect(page.get_by_text(f"Signed in as {BOB}")).to_be_visible()
    assert closed.run not in text_of(page)


def test_who_may_not_come_in_reads_one_sentence_and_gets_no_file(page: Page, closed: Closed) -> None:
    way = way_to_the_provider(page, closed)
    for account, sentence in REFUSED.items():
        assert come_back_as(page, way, account)
        page.goto(closed.link(f"/runs?run={closed.run}"))
        shown = sentence.replace("@", f"@{JOINER}")
        expect(page.get_by_role("alert")).to_have_text(shown)
        assert text_of(page) == shown
        refusal = page.request.get(closed.link("/media/0123.html"))
        assert (refusal.status, refusal.text()) == (403, sentence)


def test_a_token_that_lies_signs_nobody_in(page: Page, closed: Closed) -> None:
    way = way_to_the_provider(page, closed)
    assert {lie: come_back_as(page, way, lie) for lie in LIES} == dict.fromkeys(LIES, False)
    assert come_back_as(page, way, ADA), "the same way, without a lie"


def test_after_the_sign_in_a_link_shows_its_page_and_the_sign_out_closes_it(page: Page, closed: Closed) -> None:
    link = closed.link(f"/runs?run={closed.run}")
    page.goto(link)
    sign_in(page, ADA)
    expect(page.get_by_text(f"Signed in as {ADA}")).to_be_visible()
    assert [one["httpOnly"] for one in page.context.cookies() if one["name"] == "_streamlit_user"] == [True]
    page.goto(link)
    expect(page.locator("h1.hl-title")).to_have_text("Runs")
    expect(page.get_by_text(closed.run).first).to_be_visible()
    file = download_of(page, page.locator(".st-key-report button")).url
    assert file.startswith(closed.link("/media/"))
    assert (status(file), status(file, Cookie=cookies(page.context))) == (401, 200), "a file is for who signed in"
    page.get_by_role("button", name="Sign out").click()
    expect_only_the_sign_in(page)
    assert closed.provider.ended[-1:] == [ADA], "the provider knows as well"
    page.goto(link)
    expect_only_the_sign_in(page)
