"""Who uses a page. Every page and every part of one that looks for runs passes here, whatever link led to it."""

from __future__ import annotations

import os
from html import escape

import streamlit as st

from jobs.users import OFF, OIDC, login, user_of
from ui.guard import COOKIE, SIGN_IN

ALLOWED = "HEADLIGHT_OIDC_ALLOWED"


def visitor() -> str | None:
    """The name of who signed in; None where nobody does. Whoever should and has not sees how, and nothing more."""
    try:
        how = login()
        name = None if how == OFF else _of_provider() if how == OIDC else user_of(_word())
    except ValueError as error:
        st.error(str(error))
        st.stop()
    if name == "":
        _ask(how)
        st.stop()
    return name


def show_visitor() -> None:
    """Who is signed in, and the way out."""
    name = visitor()
    if name is None:
        return
    if login() == OIDC:
        st.caption(f"Signed in as {escape(name)}")
        st.button("Sign out", key="sign-out", on_click=st.logout, type="tertiary")
    else:
        st.html(f'<a class="hl-source" href="{SIGN_IN}" target="_self">Signed in as {escape(name)}</a>')


def _word() -> str:
    """The signed word that the browser showed when it opened the page."""
    return st.context.cookies.get(COOKIE, "")


def _of_provider() -> str:
    """The mail address that the provider vouches for, if it is one of those allowed; empty before the sign-in."""
    allowed = [one.strip().lower() for one in os.environ.get(ALLOWED, "").split(",") if one.strip()]
    if not allowed:
        raise ValueError(f"{ALLOWED} is empty; allowed are mail addresses, @domain.example, or * for all, with commas")
    if not st.user.get("is_logged_in"):
        return ""
    mail = str(st.user.get("email") or "").lower()
    if not mail or st.user.get("email_verified") is False:
        raise ValueError("the provider vouches for no mail address of yours, which is needed here")
    if not any(one in ("*", mail) or (one.startswith("@") and mail.endswith(one)) for one in allowed):
        raise ValueError(f"{mail[:100]} may not use this server; ask who runs it")
    return mail


def _ask(how: str) -> None:
    if how == OIDC:
        st.button("Sign in", key="sign-in", on_click=st.login, type="primary")
    else:
        st.html(
            f'<p><a href="{SIGN_IN}" target="_self">Sign in</a> to go on. Where that page is missing, the server was '
            "started without its door: <code>streamlit run serve.py</code>.</p>"
        )
