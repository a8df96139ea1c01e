"""The nginx of docs/deployment.md, in the words of that page, before a server that asks for a password."""

from __future__ import annotations

import getpass
import http.client
import re
import shutil
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Page, expect

from headscope.web.server.guard import HEADERS
from headscope.web.server.tries import FREE_TRIES
from tests.browser.conftest import PASSWORD
from tests.docs.blocks import blocks
from tools.app_server import AppServer

NGINX = shutil.which("nginx", path="/usr/sbin:/usr/local/sbin:/usr/bin:/usr/local/bin:/opt/homebrew/bin")
pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(NGINX is None or shutil.which("openssl") is None, reason="needs nginx and openssl"),
]

PAGE = "deployment.md"
SURROUNDINGS = """
daemon off; pid {place}/pid; error_log {place}/log; user {user};
events {{}}
http {{
  access_log off;
  client_body_temp_path {place}/body; proxy_temp_path {place}/proxy; fastcgi_temp_path {place}/fastcgi;
  uwsgi_temp_path {place}/uwsgi; scgi_temp_path {place}/scgi;
  include {place}/site.conf;
}}
"""
MEGABYTE = 2**20
sources = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere this machine has one address only")


class Proxy(NamedTuple):
    port: int
    trusted: ssl.SSLContext


class Answer(NamedTuple):
    status: int
    headers: list[tuple[str, str]]
    body: str


@pytest.fixture(scope="module")
def proxy(closed: AppServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxy]:
    """The first block of the page, with other names, ports and certificates and nothing else changed."""
    place = tmp_path_factory.mktemp("nginx")
    port = _free_port()
    certificate = _certificate(place)
    changed = {
        "listen 443 ssl;": f"listen 127.0.0.1:{port} ssl;",
        "http://headscope:8501;": f"http://127.0.0.1:{closed.port};",
        "headscope.example.org": "127.0.0.1",
        "/etc/nginx/certificates": str(place),
    }
    text = blocks(PAGE, "nginx")[0]
    for written, here in changed.items():
        assert written in text
        text = text.replace(written, here)
    (place / "site.conf").write_text(text)
    (place / "nginx.conf").write_text(SURROUNDINGS.format(place=place, user=getpass.getuser()))
    command = [str(NGINX), "-c", str(place / "nginx.conf"), "-e", str(place / "log")]
    checked = subprocess.run([*command, "-t"], capture_output=True, text=True, check=False)
    assert (checked.returncode, "successful" in checked.stderr) == (0, True), checked.stderr
    process = subprocess.Popen(command)
    try:
        _wait_until_open(port)
        yield Proxy(port, ssl.create_default_context(cafile=certificate))
    finally:
        process.terminate()
        process.wait(timeout=20)


def ask(
    proxy: Proxy, path: str, method: str = "GET", source: str = "127.0.0.1", body: bytes = b"", **headers: str
) -> Answer:
    connection = http.client.HTTPSConnection(
        "127.0.0.1", proxy.port, timeout=30, context=proxy.trusted, source_address=(source, 0)
    )
    try:
        connection.request(method, path, body or None, headers)
        answer = connection.getresponse()
        return Answer(answer.status, answer.getheaders(), answer.read().decode("utf-8", "replace"))
    finally:
        connection.close()


def signed_in(proxy: Proxy, name: str, password: str, source: str = "127.0.0.1", **headers: str) -> Answer:
    form = urlencode({"name": name, "password": password, "next": "/"}).encode()
    return ask(proxy, "/sign-in", "POST", source, form, **headers)


def test_a_page_opens_over_https_with_its_web_socket_and_a_secure_cookie(
    open_page: Callable[..., Page], proxy: Proxy
) -> None:
    page = open_page(ignore_https_errors=True)
    sockets: list[str] = []
    page.on("websocket", lambda socket: sockets.append(socket.url))
    page.goto(f"https://127.0.0.1:{proxy.port}/runs?model=looker")
    page.get_by_label("Name").fill("ada")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    expect(page.locator("h1.hl-title")).to_have_text("Runs")
    expect(page.get_by_text("Signed in as ada")).to_be_visible()
    assert {one.partition("/_stcore")[0] for one in sockets} == {f"wss://127.0.0.1:{proxy.port}"}
    given = [one for one in page.context.cookies() if one["name"] == "headscope_user"]
    assert [(one["secure"], one["httpOnly"], one["sameSite"]) for one in given] == [(True, True, "Lax")]


@pytest.mark.parametrize("path", ["/sign-in", "/_stcore/health", "/"])
def test_every_header_of_the_door_and_of_tls_comes_through_once(proxy: Proxy, path: str) -> None:
    names = [name.lower() for name, _ in ask(proxy, path).headers]
    wanted = [*(name.lower() for name in HEADERS), "strict-transport-security"]
    assert {name: names.count(name) for name in wanted} == dict.fromkeys(wanted, 1)


def test_a_foreign_host_is_refused(proxy: Proxy) -> None:
    assert ask(proxy, "/sign-in", Host="evil.example").status == 400
    assert ask(proxy, "/sign-in").status == 200


@sources
def test_wrong_tries_count_against_who_made_them_whatever_they_say_of_themselves(proxy: Proxy) -> None:
    said = [{"X-Forwarded-For": f"10.0.0.{number}"} for number in range(FREE_TRIES + 1)]
    wrong = [signed_in(proxy, f"guess {number}", "wrong", "127.0.0.2", **one).status for number, one in enumerate(said)]
    assert wrong == [401] * FREE_TRIES + [429]
    assert signed_in(proxy, "ada", PASSWORD, "127.0.0.3").status == 303


@sources
def test_who_asks_for_the_sign_in_too_often_waits_before_the_door(proxy: Proxy) -> None:
    answers = [ask(proxy, "/sign-in", source="127.0.0.4").status for _ in range(16)]
    assert answers[:11] == [200] * 11
    assert answers[-1] == 429
    assert ask(proxy, "/sign-in", source="127.0.0.5").status == 200


def test_a_body_that_is_larger_than_any_upload_ends_at_the_proxy(proxy: Proxy) -> None:
    limit = int(re.findall(r"client_max_body_size (\d+)m;", blocks(PAGE, "nginx")[0])[0])
    path = "/_stcore/upload_file/a/b"
    said = ask(proxy, path, "PUT", **{"Content-Length": str(limit * MEGABYTE + 1)})
    assert (said.status, "nginx" in said.body) == (413, True)
    inside = ask(proxy, path, "PUT", body=bytes(limit * MEGABYTE))
    assert (inside.status, inside.body) == (401, "sign in first"), "what the proxy lets pass is for the door"


def _certificate(place: Path) -> Path:
    """One that this machine signs for itself, in the names of the page."""
    pem = place / "headscope.pem"
    subprocess.run(
        [
            "openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1",
            "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(place / "headscope.key"), "-out", str(pem),
        ],
        check=True, capture_output=True,
    )  # fmt: skip
    return pem


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def _wait_until_open(port: int) -> None:
    until = time.monotonic() + 20
    while time.monotonic() < until:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            time.sleep(0.05)
    raise TimeoutError("nginx did not start within 20 seconds")
