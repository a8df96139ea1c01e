"""Every page asks who is there, also without the door: by app.py, by a deep link, in each part that reads a run."""

from __future__ import annotations

from pathlib import Path

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from jobs.limits import DEMO
from jobs.owner import owner, set_owner
from jobs.users import entry, signed_word
from tests.ui.reading import read_all
from ui import access, asking
from ui.provider import mail_of
from ui.site_map import SITE_MAP

ROOT = Path(__file__).parents[2]
PAGES = [page.file for group in SITE_MAP.values() for page in group]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HEADLIGHT_HOME", str(tmp_path))
    asking.store_of.clear()
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
    monkeypatch.setenv("HEADLIGHT_LOGIN", "password")
    monkeypatch.setattr(access, "_word", lambda: "")
    app = opened(script).run()
    assert [error.value for error in app.exception] == []
    assert "Sign in</a> to go on" in shown(app)
    assert "hl-title" not in shown(app)
    assert app.sidebar.get("html") == []
    assert app.button == []
    assert not (home / "headlight.sqlite").exists(), "nothing was looked for"


def test_a_page_shows_itself_to_who_signed_in(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADLIGHT_LOGIN", "password")
    (home / "users").write_text(entry("ada", "correct horse battery"))
    word = signed_word("ada")
    monkeypatch.setattr(access, "_word", lambda: word)
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60).run()
    app.switch_page("pages/runs.py").run()
    assert "hl-title" in shown(app)
    assert "Signed in as ada" in "".join(one.value for one in app.sidebar.get("html"))


def test_a_login_that_nobody_understands_shows_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADLIGHT_LOGIN", "perhaps")
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60).run()
    assert read_all(app.error) == ["HEADLIGHT_LOGIN is 'perhaps'; allowed are off, password, oidc"]


def test_the_store_of_a_page_is_that_of_who_signed_in(monkeypatch: pytest.MonkeyPatch) -> None:
    try:
        assert (asking.store().owner, owner()) == (None, None)
        for name in ("ada", "bob"):
            monkeypatch.setattr(asking, "visitor", lambda name=name: name)
            assert (asking.store().owner, owner()) == (name, name)
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
        ("", {"is_logged_in": True, "email": "ada@example.org"}, "HEADLIGHT_OIDC_ALLOWED is empty"),
        (" , ", {"is_logged_in": True, "email": "ada@example.org"}, "HEADLIGHT_OIDC_ALLOWED is empty"),
    ],
)
def test_who_comes_from_a_provider_is_a_verified_mail_address_on_the_list(
    monkeypatch: pytest.MonkeyPatch, allowed: str, user: dict[str, object], expected: str
) -> None:
    monkeypatch.setenv("HEADLIGHT_OIDC_ALLOWED", allowed)
    if " " in expected:
        with pytest.raises(ValueError, match=expected):
            mail_of(user)
    else:
        assert mail_of(user) == expected


@pytest.mark.parametrize("script", ["app.py", *PAGES])
def test_who_has_not_come_from_a_provider_sees_a_button_and_no_page(
    home: Path, monkeypatch: pytest.MonkeyPatch, script: str
) -> None:
    monkeypatch.setenv("HEADLIGHT_LOGIN", "oidc")
    monkeypatch.setenv("HEADLIGHT_OIDC_ALLOWED", "*")
    app = opened(script)
    app.query_params["model"] = "looker"
    app.query_params["run"] = "0123456789abcdef"
    app.run()
    assert [error.value for error in app.exception] == []
    assert [button.label for button in app.button] == ["Sign in"]
    assert "hl-title" not in shown(app)
    assert not (home / "headlight.sqlite").exists(), "nothing was looked for"


def test_what_a_click_is_refused_stands_on_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    from jobs.kinds.speed import SpeedRun

    monkeypatch.setenv(DEMO, "1")
    asking.ask(SpeedRun("elsewhere/model"))
    assert "this is a demo, which shows its own models only" in st.session_state.pop("refused")
