"""Who uses a page. Every page and every part of one that looks for runs passes here, whatever link led to it."""

from __future__ import annotations

from html import escape

import streamlit as st

from headscope.runs.policy.users import OFF, OIDC, login, user_of
from headscope.web.page.markdown import plain
from headscope.web.server.guard import COOKIE, SIGN_IN
from headscope.web.server.provider import mail_of


def visitor() -> str | None:
    """The name of who signed in; None where nobody does. Whoever should and has not sees how, and nothing more."""
    try:
        how = login()
        name = None if how == OFF else mail_of(st.user) if how == OIDC else user_of(_word())
    except ValueError as error:
        st.error(plain(str(error)))
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
        st.html(f'<div class="hl-source">Signed in as {escape(name)}</div>')
        st.button("Sign out", key="sign-out", on_click=st.logout, type="tertiary")
    else:
        st.html(f'<a class="hl-source" href="{SIGN_IN}" target="_self">Signed in as {escape(name)}</a>')


def _word() -> str:
    """The signed word that the browser showed when it opened the page."""
    return st.context.cookies.get(COOKIE, "")


def _ask(how: str) -> None:
    if how == OIDC:
        st.button("Sign in", key="sign-in", on_click=st.login, type="primary")
    else:
        st.html(
            f'<p><a href="{SIGN_IN}" target="_self">Sign in</a> to go on. Where that page is missing, the server was '
            "started without its own checks: use <code>headscope app</code>.</p>"
        )
