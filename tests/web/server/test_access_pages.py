"""Every page asks who is there, also without the door: by app.py, by a deep link, in each part that reads a run."""

from __future__ import annotations

from pathlib import Path

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from headscope.runs.policy.limits import DEMO
from headscope.runs.policy.owner import owner, set_owner
from headscope.runs.policy.users import entry, signed_word
from headscope.web.page.site_map import SITE_MAP
from headscope.web.runs import requests
from headscope.web.server import visitor
from headscope.web.server.provider import mail_of
from tests.web.reading import read_all

ROOT = Path(__file__).parents[3]
PAGES = [page.file for group in SITE_MAP.values() for page in group]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HEADSCOPE_HOME", str(tmp_path))
    requests.store_of.clear()
    return tmp_path


def shown(app: AppTest) -> str:
    return "".join(str(one.proto.body) for one in app.main.get("html"))


def opened(script: str) -> AppTest:
    """A page alone is run from outside of its folder, whose names would hide those of packages."""
    if script == "app.py":
        return AppTest.from_file(str(ROOT / script), default_timeout=60)
    return AppTest.from_string(f"import runpy\nrunpy.run_path({str(ROOT / script)!r})", default_timeout=60)


@pytest.mark.parametrize("script", ["app.py", *PAGES])
def test_no_page_shows_anything_to_who_has_not_signed_in(
    home: Path, monkeypatch: pytest.MonkeyPatch, script: str
) -> None:
    monkeypatch.setenv("HEADSCOPE_LOGIN", "password")
    monkeypatch.setattr(visitor, "_word", lambda: "")
    app = opened(script).run()
    assert [error.value for error in app.exception] == []
    assert "Sign in</a> to go on" in shown(app)
    assert "hl-title" not in shown(app)
    assert app.sidebar.get("html") == []
    assert app.button == []
    assert not (home / "headscope.sqlite").exists(), "nothing was looked for"


def test_a_page_shows_itself_to_who_signed_in(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADSCOPE_LOGIN", "password")
    (home / "users").write_text(entry("ada", "correct horse battery"))
    word = signed_word("ada")
    monkeypatch.setattr(visitor, "_word", lambda: word)
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60).run()
    app.switch_page("pages/runs.py").run()
    assert "hl-title" in shown(app)
    assert "Signed in as ada" in "".join(one.value for one in app.sidebar.get("html"))


def test_a_login_that_nobody_understands_shows_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADSCOPE_LOGIN", "perhaps")
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60).run()
    assert read_all(app.error) == ["HEADSCOPE_LOGIN is 'perhaps'; allowed are off, password, oidc"]


def test_the_store_of_a_page_is_that_of_who_signed_in(monkeypatch: pytest.MonkeyPatch) -> None:
    try:
        assert (requests.store().owner, owner()) == (None, None)
        for name in ("ada", "bob"):
            monkeypatch.setattr(requests, "visitor", lambda name=name: name)
            assert (requests.store().owner, owner()) == (name, name)
    finally:
        set_owner(None)


@pytest.mark.parametrize(
    ("allowed", "user", "expected"),
    [
        ("*", {"is_logged_in": False}, ""),
        ("*", {}, ""),
        ("*", {"is_logged_in": True, "email": "Ada@Example.org"}, "ada@example.org"),
        ("@example.org", {"is_logged_in": True, "email": "ada@example.org", "email_verified": True}, "ada@example.org"),
        ("x@y.z, ada@example.org", {"is_logged_in": True, "email": "ada@example.org"}, "ada@example.org"),
        ("@example.org", {"is_logged_in": True, "email": "ada@evil-example.org"}, "may not use this server"),
        ("@example.org", {"is_logged_in": True, "email": "ada@example.org.evil"}, "may not use this server"),
        ("ada@example.org", {"is_logged_in": True, "email": "eve@example.org"}, "may not use this server"),
        ("*", {"is_logged_in": True}, "vouches for no mail address"),
        ("*", {"is_logged_in": True, "email": "a@b.c", "email_verified": False}, "vouches for no mail address"),
        ("*", {"is_logged_in": True, "email": "a@b.c", "email_verified": "false"}, "vouches for no mail address"),
        ("*", {"is_logged_in": True, "email": "a@b.c", "email_verified": "true"}, "a@b.c"),
        ("", {"is_logged_in": True, "email": "ada@example.org"}, "HEADSCOPE_OIDC_ALLOWED is empty"),
        (" , ", {"is_logged_in": True, "email": "ada@example.org"}, "HEADSCOPE_OIDC_ALLOWED is empty"),
    ],
)
def test_who_comes_from_a_provider_is_a_verified_mail_address_on_the_list(
    monkeypatch: pytest.MonkeyPatch, allowed: str, user: dict[str, object], expected: str
) -> None:
    monkeypatch.setenv("HEADSCOPE_OIDC_ALLOWED", allowed)
    if " " in expected:
        with pytest.raises(ValueError, match=expected):
            mail_of(user)
    else:
        assert mail_of(user) == expected


@pytest.mark.parametrize("script", ["app.py", *PAGES])
def test_who_has_not_come_from_a_provider_sees_a_button_and_no_page(
    home: Path, monkeypatch: pytest.MonkeyPatch, script: str
) -> None:
    monkeypatch.setenv("HEADSCOPE_LOGIN", "oidc")
    monkeypatch.setenv("HEADSCOPE_OIDC_ALLOWED", "*")
    app = opened(script)
    app.query_params["model"] = "looker"
    app.query_params["run"] = "0123456789abcdef"
    app.run()
    assert [error.value for error in app.exception] == []
    assert [button.label for button in app.button] == ["Sign in"]
    assert "hl-title" not in shown(app)
    assert not (home / "headscope.sqlite").exists(), "nothing was looked for"


def test_what_a_click_is_refused_stands_on_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    from headscope.runs.kinds.speed import SpeedRun

    monkeypatch.setenv(DEMO, "1")
    requests.ask(SpeedRun("elsewhere/model"))
    assert "this is a demo, which shows its own models only" in st.session_state.pop("refused")
