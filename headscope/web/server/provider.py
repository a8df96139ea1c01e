"""Who a provider of OpenID Connect says that somebody is: to a page by st.user, to the door by the cookie behind it."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

from streamlit.auth_util import get_cookie_with_chunks, get_origin_from_redirect_uri
from streamlit.web.server.server_util import get_cookie_secret
from streamlit.web.server.starlette.starlette_app_utils import decode_signed_value
from streamlit.web.server.starlette.starlette_server_config import USER_COOKIE_NAME

from headscope.web.page.site_map import SITE_MAP

ALLOWED = "HEADSCOPE_OIDC_ALLOWED"
ON_THE_WAY = {"/", "/favicon.png", "/_stcore/host-config", "/_stcore/stream"}
ON_THE_WAY |= {"/auth/login", "/auth/logout", "/oauth2callback"}
ON_THE_WAY |= {f"/{page.name}" for group in SITE_MAP.values() for page in group}
"""What answers before the sign-in, since Streamlit shows the way to it: empty pages, which ask who is there."""

SCRIPTS = "/static/"
"""Streamlit's own, the same for everybody."""


class RefusedError(ValueError):
    """Somebody signed in who may not come in."""


def mail_of(claims: Mapping[str, Any]) -> str:
    """The mail address that the provider vouches for, if it is one of those allowed; empty before the sign-in."""
    allowed = [one.strip().lower() for one in os.environ.get(ALLOWED, "").split(",") if one.strip()]
    if not allowed:
        raise ValueError(f"{ALLOWED} is empty; allowed are mail addresses, @domain.example, or * for all, with commas")
    if not claims.get("is_logged_in"):
        return ""
    mail = str(claims.get("email") or "").lower()
    if not mail or str(claims.get("email_verified")).lower() == "false":  # some providers write it as a text
        raise RefusedError("the provider vouches for no mail address of yours, which is needed here")
    if not any(one in ("*", mail) or (one.startswith("@") and mail.endswith(one)) for one in allowed):
        raise RefusedError(f"{mail[:100]} may not use this server; ask who runs it")
    return mail


def claims_of(cookies: Mapping[str, str]) -> dict[str, Any]:
    """What Streamlit's signed cookie says; nothing where it is changed, too old, or of another server."""

    def signed(name: str) -> bytes | None:
        return decode_signed_value(get_cookie_secret(), name, cookies.get(name, ""))

    try:
        claims = json.loads(get_cookie_with_chunks(signed, USER_COOKIE_NAME) or b"{}")
    except ValueError:  # pieces of two sign-ins
        return {}
    return claims if claims.get("origin") == get_origin_from_redirect_uri() else {}


def is_on_the_way(path: str) -> bool:
    """Whether a browser needs that path to sign in at all."""
    return path in ON_THE_WAY or path.startswith(SCRIPTS)
