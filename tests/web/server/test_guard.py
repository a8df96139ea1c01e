"""The door before the app, asked as a server would ask it: hosts, headers, the sign-in, and who may pass."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path
from secrets import token_urlsafe
from typing import Any, NamedTuple
from urllib.parse import urlencode

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket
from streamlit.auth_util import set_cookie_with_chunks
from streamlit.web.server.starlette.starlette_app_utils import create_signed_value
from streamlit.web.server.starlette.starlette_server_config import USER_COOKIE_NAME

from headscope.runs.policy import users
from headscope.runs.policy.users import SECONDS_SIGNED_IN, entry, is_right, signed_word, user_of
from headscope.web.server import provider, sign_in
from headscope.web.server.guard import HEADERS, Headers, middleware
from headscope.web.server.sign_in import ROUTES, inside
from headscope.web.server.tries import FREE_TRIES, LONGEST_WAIT, MOST_REMEMBERED, Tries

HOST = "localhost:8501"
PASSWORD = "correct horse battery"
PATHS = ["/", "/importance", "/media/0123.png", "/_stcore/host-config", "/_stcore/upload_file/a/b", "/static/x.js"]
OF_SIGNED_IN = ["/media/0123.png", "/_stcore/upload_file/a/b", "/component/x/y.js", "/app/static/x", "/_stcore/metrics"]
SECRET, ORIGIN = "a secret of thirty-two characters", f"http://{HOST}"


class Answer(NamedTuple):
    status: int
    headers: dict[str, str]
    body: str


async def behind(request: Request) -> Response:
    own = {"x-frame-options": "DENY"} if request.url.path == "/own" else {}
    return PlainTextResponse(f"behind {request.url.path}", headers=own)


async def socket(connection: WebSocket) -> None:
    await connection.accept()
    await connection.close()


@pytest.fixture(scope="module", autouse=True)
def cheap_hashes() -> Iterator[None]:
    assert (users.COST, users.BLOCK) == (2**15, 8), "32 MB for a try"
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(users, "COST", 2**6)
        yield


@pytest.fixture(scope="module")
def lines() -> str:
    return f"# who may\n{entry('ada', PASSWORD)}\n{entry('bob', PASSWORD)}\n"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lines: str) -> Path:
    monkeypatch.setenv("HEADSCOPE_HOME", str(tmp_path))
    monkeypatch.setenv("HEADSCOPE_LOGIN", "password")
    (tmp_path / "users").write_text(lines)
    return tmp_path


@pytest.fixture
def door(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    routes = [*ROUTES, WebSocketRoute("/_stcore/stream", socket)]
    routes.append(Route("/{path:path}", behind, methods=["GET", "POST", "PUT"]))
    monkeypatch.setattr(sign_in, "_TRIES", Tries())
    yield Starlette(routes=routes, middleware=middleware())


def ask(app: Any, path: str, method: str = "GET", headers: dict[str, str] | None = None, form: Any = None) -> Answer:
    """One request, as a server hands it to the app."""
    body = urlencode(form).encode() if form else b""
    path, _, query = path.partition("?")
    sent: list[dict[str, Any]] = []
    given = {"host": HOST} | (headers or {})
    scope = {
        "type": "websocket" if method == "SOCKET" else "http", "method": method, "scheme": "http", "path": path,
        "raw_path": path.encode(), "query_string": os.fsencode(query), "subprotocols": [],
        "server": ("localhost", 8501), "client": ("10.0.0.1", 1),
        "headers": [(name.encode(), value.encode()) for name, value in given.items()],
    }  # fmt: skip
    kind = {"type": "websocket.connect"} if method == "SOCKET" else {"type": "http.request", "body": body}

    async def run() -> None:
        async def receive() -> dict[str, Any]:
            return kind

        async def send(message: dict[str, Any]) -> None:
            sent.append(message)

        await app(scope, receive, send)

    asyncio.run(run())
    if method == "SOCKET":
        return Answer(int(sent[0]["type"] == "websocket.accept"), {}, sent[0]["type"])
    shown = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
    return Answer(sent[0]["status"], shown, b"".join(one.get("body", b"") for one in sent[1:]).decode())


def cookie(name: str = "ada", **how: Any) -> dict[str, str]:
    return {"cookie": f"other=1; headscope_user={signed_word(name, **how)}"}


def signed_in(app: Any, name: str = "ada", password: str = PASSWORD, **headers: str) -> Answer:
    return ask(app, "/sign-in", "POST", headers, {"name": name, "password": password, "next": "/runs?run=1"})


@pytest.mark.parametrize("path", PATHS)
def test_nothing_answers_before_the_sign_in(door: Any, path: str) -> None:
    assert ask(door, path).status == 401
    shown = ask(door, f"{path}?a=1&b=2", headers={"accept": "text/html,*/*"})
    assert (shown.status, shown.headers["location"]) == (303, f"/sign-in?next={path}%3Fa%3D1%26b%3D2")
    assert ask(door, path, "PUT", {"accept": "text/html"}).status == 401
    assert "behind" not in ask(door, path).body + shown.body
    assert ask(door, path, headers=cookie()).body == f"behind {path}"


def test_no_web_socket_opens_before_the_sign_in(door: Any) -> None:
    assert ask(door, "/_stcore/stream", "SOCKET").body == "websocket.close"
    assert ask(door, "/_stcore/stream", "SOCKET", cookie()).body == "websocket.accept"


def of_provider(claims: dict[str, Any], secret: str = SECRET) -> dict[str, str]:
    """The cookies that Streamlit gives to who comes from a provider."""
    given: dict[str, str] = {}

    def sign(name: str, value: str) -> bytes:
        return create_signed_value(secret, name, value)

    def keep(name: str, value: str) -> None:
        given[name] = sign(name, value).decode()

    told = {"origin": ORIGIN, "is_logged_in": True, "email": "ada@example.org"} | claims
    set_cookie_with_chunks(keep, sign, USER_COOKIE_NAME, told, cookie_attr_size=100)
    return given


@pytest.fixture
def asks_provider(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADSCOPE_LOGIN", "oidc")
    monkeypatch.setenv("HEADSCOPE_OIDC_ALLOWED", "@example.org")
    monkeypatch.setattr(provider, "get_cookie_secret", lambda: SECRET)
    monkeypatch.setattr(provider, "get_origin_from_redirect_uri", lambda: ORIGIN)


def with_cookies(cookies: dict[str, str]) -> dict[str, str]:
    return {"cookie": "; ".join(f"{name}={value}" for name, value in cookies.items())}


@pytest.mark.parametrize("path", OF_SIGNED_IN)
@pytest.mark.usefixtures("asks_provider")
def test_only_who_came_from_the_provider_and_may_come_in_gets_files(door: Any, path: str) -> None:
    assert ask(door, path).status == 401
    assert ask(door, path, "PUT").status == 401
    assert ask(door, path, headers={"accept": "text/html"}).status == 303
    assert ask(door, path, headers=cookie()).status == 401, "a password is another way in"
    assert ask(door, path, headers=with_cookies(of_provider({}))).body == f"behind {path}"
    long = of_provider({"picture": token_urlsafe(9000)})
    assert len(long) > 2, "too long for one cookie"
    assert ask(door, path, headers=with_cookies(long)).body == f"behind {path}"
    assert ask(door, path, headers=with_cookies(of_provider({"email": "eve@elsewhere.example"}))).status == 403
    assert ask(door, path, headers=with_cookies(of_provider({"email_verified": False}))).status == 403


@pytest.mark.usefixtures("asks_provider")
def test_a_cookie_that_is_not_ours_is_none(door: Any) -> None:
    name, word = next(iter(of_provider({}).items()))
    long, longer = (of_provider({"picture": token_urlsafe(length)}) for length in (9000, 18000))
    last = list(long)[-1]
    wrong = [
        of_provider({}, "another secret"), of_provider({"origin": "https://elsewhere.example"}), {name: word[:-2]},
        {name: ""}, {name: "\u00e9"}, {"another": word}, {f"{name}_1": word}, of_provider({"is_logged_in": False}),
        {key: long[key] for key in long if key != last}, long | {last: longer[last]},
    ]  # fmt: skip
    assert [ask(door, "/media/x.png", headers=with_cookies(one)).status for one in wrong] == [401] * len(wrong)


@pytest.mark.usefixtures("asks_provider")
def test_the_way_to_the_provider_is_open_and_who_is_allowed_is_asked_every_time(
    door: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    for path in ("/", "/runs", "/static/x.js", "/_stcore/host-config", "/_stcore/health", "/auth/login"):
        assert ask(door, path).body == f"behind {path}"
    assert ask(door, "/_stcore/stream", "SOCKET").body == "websocket.accept", "the pages ask"
    assert ask(door, "/another/stream", "SOCKET").body == "websocket.close"
    ada = with_cookies(of_provider({}))
    monkeypatch.setenv("HEADSCOPE_OIDC_ALLOWED", "bob@example.org")
    assert ask(door, "/media/x.png", headers=ada).status == 403
    monkeypatch.setenv("HEADSCOPE_OIDC_ALLOWED", "")
    assert ask(door, "/media/x.png", headers=ada).status == 503


def test_the_health_of_the_server_is_told_to_everybody(door: Any) -> None:
    assert ask(door, "/_stcore/health").status == 200
    assert ask(door, "/_stcore/health/../host-config").status == 401


def test_without_a_login_everybody_passes(door: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADSCOPE_LOGIN", "off")
    assert [ask(door, path).body for path in PATHS] == [f"behind {path}" for path in PATHS]
    assert ask(door, "/sign-in").headers["location"] == "/"


@pytest.mark.parametrize("setting", ["HEADSCOPE_LOGIN", "HEADSCOPE_DEMO"])
def test_a_setting_that_nobody_understands_lets_nobody_pass(
    door: Any, monkeypatch: pytest.MonkeyPatch, setting: str
) -> None:
    monkeypatch.setenv(setting, "perhaps")
    answer = ask(door, "/", headers=cookie())
    assert (answer.status, answer.body.startswith(f"{setting} is 'perhaps'; allowed ")) == (503, True)


def test_a_missing_or_broken_list_of_users_lets_nobody_pass(door: Any, home: Path) -> None:
    word = cookie()
    for content in ("", "ada\n", "ada:plain\n", "ada:scrypt$00$00\n"):
        (home / "users").write_text(content)
        assert ask(door, "/", headers=word).status == 401
        assert signed_in(door).status == 503
    (home / "users").unlink()
    assert ask(door, "/", headers=word).status == 401
    assert "no list of users" in signed_in(door).body


@pytest.mark.parametrize("path", ["/sign-in\t", "/sign\n-in", "/_stcore/health\r", "/_stcore/\thealth"])
def test_a_path_that_only_looks_open_is_not(door: Any, path: str) -> None:
    assert ask(door, path).status == 401


def test_bytes_that_are_no_text_lead_to_the_sign_in_like_any_others(door: Any) -> None:
    answer = ask(door, "/runs?a=\udcff", headers={"accept": "text/html"})
    assert (answer.status, answer.headers["location"]) == (303, "/sign-in?next=/runs%3Fa%3D%FF")
    assert ask(door, "/sign-in?next=//[&\udcff").status == 200
    form = {"name": "ada", "password": PASSWORD}
    assert ask(door, "/sign-in?\udcff", "POST", form=form).status == 303


def test_a_secret_that_is_too_short_lets_nobody_pass(door: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    word = cookie()
    monkeypatch.setenv("HEADSCOPE_SECRET", "short")
    for path in ("/", "/sign-in"):
        answer = ask(door, path, headers=word)
        assert (answer.status, answer.body) == (503, "HEADSCOPE_SECRET is shorter than 32 characters")


def test_a_home_or_a_secret_that_cannot_be_used_is_said_by_the_sign_in(
    door: Any, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    word = cookie()
    (home / "secret").unlink()
    (home / "secret").mkdir()
    assert ask(door, "/", headers=word).status == 401
    assert "the file `secret` in the home cannot be read" in signed_in(door).body
    monkeypatch.setenv("HEADSCOPE_HOME", str(home / "users"))
    assert ask(door, "/", headers=word).status == 401
    assert ask(door, "/sign-in", headers=word).status == 200
    assert (signed_in(door).status, "no list of users" in signed_in(door).body) == (503, True)


def test_a_demo_takes_no_upload_whoever_sends_it(door: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADSCOPE_DEMO", "1")
    assert ask(door, "/_stcore/upload_file/a/b", "PUT", cookie()).status == 403
    assert ask(door, "/", headers=cookie()).status == 200


@pytest.mark.parametrize("host", ["evil.example", "localhost.evil.example", "evil.example:8501", ""])
def test_a_foreign_host_is_refused_for_pages_files_and_sockets(door: Any, host: str) -> None:
    for path in (*PATHS, "/_stcore/health", "/sign-in"):
        assert ask(door, path, headers=cookie() | {"host": host}).status == 400
    assert ask(door, "/_stcore/stream", "SOCKET", cookie() | {"host": host}).status == 0
    assert ask(door, "/", headers=cookie() | {"host": "127.0.0.1:8633"}).status == 200


def test_every_answer_has_the_headers_once_refusals_among_them(door: Any) -> None:
    answers = [
        ask(door, "/", headers=cookie()), ask(door, "/"), ask(door, "/", headers={"host": "evil.example"}),
        ask(door, "/_stcore/health"), ask(door, "/sign-in"), signed_in(door, password="wrong"),
    ]  # fmt: skip
    for answer in answers:
        assert {name.lower() for name in HEADERS} <= answer.headers.keys()
    policy = answers[0].headers["content-security-policy"]
    assert "default-src 'self'" in policy
    assert "frame-ancestors 'self'" in policy
    assert "unsafe-eval" not in policy
    assert "http" not in policy
    assert "default-src 'none'" in answers[4].headers["content-security-policy"], "the sign-in has no script at all"
    assert ask(door, "/own", headers=cookie()).headers["x-frame-options"] == "DENY", "what a page sets itself stays"


def test_a_fault_behind_the_door_has_the_headers_too_and_is_not_hidden() -> None:
    sent: list[dict[str, Any]] = []

    async def fault(*_: Any) -> None:
        raise ZeroDivisionError

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    with pytest.raises(ZeroDivisionError):
        asyncio.run(Headers(fault)({"type": "http"}, None, send))
    assert sent[0]["status"] == 500
    assert {name.lower().encode() for name in HEADERS} <= {name for name, _ in sent[0]["headers"]}
    assert b"ZeroDivision" not in sent[1]["body"]


def test_the_headers_for_a_proxy_are_those_of_the_door() -> None:
    text = (Path(sign_in.__file__).parents[3] / "docs" / "deployment.md").read_text(encoding="utf-8")
    for name, value in HEADERS.items():
        quoted = f'"{value}"' if " " in value else value
        assert f"add_header {name} {quoted} always;" in text


def test_the_right_password_gives_a_cookie_and_leads_to_what_was_asked_for(door: Any) -> None:
    answer = signed_in(door)
    assert (answer.status, answer.headers["location"]) == (303, "/runs?run=1")
    given = answer.headers["set-cookie"].lower()
    assert all(part in given for part in ("httponly", "samesite=lax", "path=/", f"max-age={SECONDS_SIGNED_IN}"))
    assert "secure" not in given
    word = answer.headers["set-cookie"].partition(";")[0]
    assert ask(door, "/", headers={"cookie": word}).status == 200
    assert "secure" in signed_in(door, **{"x-forwarded-proto": "https"}).headers["set-cookie"].lower()


@pytest.mark.parametrize(
    ("name", "password"), [("ada", "wrong"), ("ada", ""), ("eve", PASSWORD), ("", ""), ("a\0", "x")]
)
def test_a_wrong_name_or_password_gives_the_same_answer_and_no_cookie(door: Any, name: str, password: str) -> None:
    answer = signed_in(door, name, password)
    assert answer.status == 401
    assert "Name or password is wrong." in answer.body
    assert "set-cookie" not in answer.headers


def test_what_was_typed_comes_back_as_text(door: Any) -> None:
    answer = signed_in(door, '"><script>alert(1)</script>', "wrong")
    assert "<script>" not in answer.body
    assert "&lt;script&gt;" in answer.body


def test_a_form_from_another_site_is_refused(door: Any) -> None:
    for origin in ("https://evil.example", f"https://evil.example/{HOST}", "http://[", "null", ""):
        assert signed_in(door, origin=origin).status == 403
    assert signed_in(door, origin=f"http://{HOST}").status == 303
    assert ask(door, "/sign-out", "POST", cookie() | {"origin": "https://evil.example"}).status == 403


def test_signing_out_takes_the_cookie(door: Any) -> None:
    assert "Signed in as ada" in ask(door, "/sign-in", headers=cookie()).body
    answer = ask(door, "/sign-out", "POST", cookie())
    assert (answer.status, answer.headers["location"]) == (303, "/sign-in")
    assert "max-age=0" in answer.headers["set-cookie"].lower()


def test_guessing_is_slowed_down_and_then_even_the_right_password_waits(
    door: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[str] = []
    monkeypatch.setattr(sign_in, "is_right", lambda _, password: bool(tried.append(password)) or password == PASSWORD)
    answers = [signed_in(door, password=f"guess {number}").status for number in range(FREE_TRIES + 3)]
    assert answers == [401] * FREE_TRIES + [429] * 3
    assert signed_in(door).status == 429
    assert len(tried) == FREE_TRIES, "who has to wait costs nothing"


def test_each_wrong_try_waits_longer_up_to_a_bound_and_a_right_one_clears_it() -> None:
    now = [0.0]
    tries = Tries(lambda: now[0])
    waits = []
    for _ in range(FREE_TRIES + 12):
        tries.wrong("ada")
        waits.append(tries.seconds_to_wait("ada", "address"))
    assert waits[: FREE_TRIES + 3] == [0.0] * (FREE_TRIES - 1) + [1.0, 2.0, 4.0, 8.0]
    assert waits[-1] == LONGEST_WAIT
    now[0] += LONGEST_WAIT
    assert tries.seconds_to_wait("ada") == 0
    assert tries.seconds_to_wait("bob") == 0
    tries.wrong("ada")
    tries.right("ada")
    assert tries.seconds_to_wait("ada") == 0
    for number in range(MOST_REMEMBERED + 10):
        tries.wrong(str(number))
    assert len(tries._wrong) == MOST_REMEMBERED


def test_a_signed_word_names_its_user_until_it_ends() -> None:
    word = signed_word("ada", now=1000)
    assert user_of(word, now=1000 + SECONDS_SIGNED_IN - 1) == "ada"
    assert user_of(word, now=1000 + SECONDS_SIGNED_IN + 1) == ""


def test_a_word_that_was_changed_or_made_up_names_nobody() -> None:
    word = signed_word("ada")
    payload, _, signature = word.partition(".")
    others = signed_word("bob").partition(".")
    forged = [
        "", ".", "x.y", payload, f"{payload}.", f"{payload}.{'0' * 64}", f"{others[0]}.{signature}",
        word[:-1] + ("0" if word[-1] != "0" else "1"), f"{b'[]'.hex()}.{signature}", f"{b'7'.hex()}.x", "\u00e9.\u00e9",
        f"{b'[[1], 2]'.hex()}.x", f"{(b'[' * 15_000).hex()}.x",
    ]  # fmt: skip
    assert [user_of(one) for one in forged] == [""] * len(forged)


def test_a_word_ends_with_a_new_password_a_removed_user_or_another_secret(home: Path, lines: str) -> None:
    word = signed_word("ada")
    (home / "users").write_text(entry("ada", "another password") + "\n")
    assert user_of(word) == ""
    (home / "users").write_text(lines.replace("ada:", "eve:"))
    assert user_of(word) == ""
    (home / "users").write_text(lines)
    assert user_of(word) == "ada"
    (home / "secret").unlink()
    assert user_of(word) == ""


def test_the_secret_is_for_the_server_alone_and_may_come_from_outside(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    signed_word("ada")
    assert (home / "secret").stat().st_mode & 0o777 == 0o600
    assert len((home / "secret").read_text()) == 64
    monkeypatch.setenv("HEADSCOPE_SECRET", "short")
    with pytest.raises(ValueError, match="HEADSCOPE_SECRET is shorter than 32"):
        signed_word("ada")
    monkeypatch.setenv("HEADSCOPE_SECRET", "x" * 32)
    assert user_of(signed_word("ada")) == "ada"


def test_a_password_is_kept_as_a_salted_hash(lines: str) -> None:
    first, second = (line.partition(":")[2] for line in lines.splitlines()[1:])
    assert first != second, "the same password, another salt"
    assert PASSWORD not in lines
    scheme, salt, key = first.split("$")
    again = users.hashlib.scrypt(PASSWORD.encode(), salt=bytes.fromhex(salt), n=2**6, r=8, p=1, dklen=32)
    assert (scheme, key) == ("scrypt", again.hex())


def test_passwords_are_compared_in_constant_time_and_nobody_takes_as_long(monkeypatch: pytest.MonkeyPatch) -> None:
    computed: list[bytes] = []
    compared: list[int] = []
    scrypt, compare = users._scrypt, users.hmac.compare_digest
    monkeypatch.setattr(users, "_scrypt", lambda word, salt: computed.append(salt) or scrypt(word, salt))
    monkeypatch.setattr(users.hmac, "compare_digest", lambda a, b: compared.append(1) or compare(a, b))
    assert [is_right("ada", PASSWORD), is_right("ada", "x"), is_right("eve", PASSWORD)] == [True, False, False]
    assert (len(computed), len(compared)) == (3, 3)


@pytest.mark.parametrize(
    ("name", "password"), [("", PASSWORD), ("a:b", PASSWORD), ("a\nb", PASSWORD), ("ada", "short")]
)
def test_a_line_with_a_bad_name_or_a_short_password_is_not_made(name: str, password: str) -> None:
    with pytest.raises(ValueError, match="; allowed are "):
        entry(name, password)


@pytest.mark.parametrize(
    "path",
    [
        "",
        "https://evil.example",
        "//evil.example",
        "/\\evil.example",
        "javascript:alert(1)",
        "/a\nb",
        "/sign-in",
        "//[",
    ],
)
def test_the_way_after_the_sign_in_stays_on_this_server(path: str) -> None:
    assert inside(path) == "/"
    assert inside("/importance?model=looker&head=encoder.0.1") == "/importance?model=looker&head=encoder.0.1"
