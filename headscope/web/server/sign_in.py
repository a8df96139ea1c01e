"""The page on which people sign in with a password: plain HTML without any script, served before Streamlit."""

from __future__ import annotations

import asyncio
import math
from html import escape
from pathlib import Path
from urllib.parse import parse_qs

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from headscope.runs.policy.users import PASSWORD, SECONDS_SIGNED_IN, is_right, login, signed_word, user_of
from headscope.web.charts.palette import VARIABLES
from headscope.web.server.guard import COOKIE, SIGN_IN, cookie_of
from headscope.web.server.tries import Tries

LONGEST_FORM = 8192
MOST_AT_ONCE = 2
"""Passwords that are checked at once: each takes 32 MB."""

POLICY = "default-src 'none'; style-src 'unsafe-inline'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
COLOURS = "".join(
    f"--{name}:light-dark({VARIABLES['light'][name]},{VARIABLES['dark'][name]});"
    for name in ("page", "panel", "text", "second", "line", "primary", "amber")
)
STYLE = f":root{{{COLOURS}}}" + Path(__file__).with_suffix(".css").read_text(encoding="utf-8")
FORM = """<h1>Sign in</h1><p>This Headscope is for those who have an account.</p>{wrong}
<form method="post" action="{action}">
<label>Name<input name="name" autocomplete="username" autocapitalize="none" required autofocus value="{name}"></label>
<label>Password<input name="password" type="password" autocomplete="current-password" required></label>
<input type="hidden" name="next" value="{next}"><button>Sign in</button></form>"""
SIGNED_IN = """<h1>Signed in as {name}</h1><p><a href="/">Back to Headscope</a></p>
<form method="post" action="{action}"><button>Sign out</button></form>"""

_TRIES = Tries()
_CHECKS = asyncio.Semaphore(MOST_AT_ONCE)


async def sign_in(request: Request) -> Response:
    """The form, or what comes of it."""
    if login() != PASSWORD:
        return RedirectResponse("/", 303)
    if request.method == "GET":
        name = user_of(cookie_of(request))
        if name:
            return _page(SIGNED_IN.format(name=escape(name), action="/sign-out"))
        return _form(inside(request.query_params.get("next", "")))
    if not _same_site(request):
        return _form("/", "This form was sent from another site; try again here.", status=403)
    given = await _given(request)
    keys = f"name {given['name']}", f"address {request.client.host if request.client else ''}"
    wait = _TRIES.seconds_to_wait(*keys)
    if wait:
        sentence = f"Too many wrong tries; wait {math.ceil(wait)} seconds."
        return _form(inside(given["next"]), sentence, given["name"], 429)
    _TRIES.wrong(*keys)  # before the check, so that many tries at once count as many
    try:
        async with _CHECKS:
            right = await asyncio.to_thread(is_right, given["name"], given["password"])
        word = signed_word(given["name"]) if right else ""
    except ValueError as error:  # of the list of users or the secret, not of what was typed
        return _form("/", str(error), status=503)
    if not right:
        return _form(inside(given["next"]), "Name or password is wrong.", given["name"], 401)
    _TRIES.right(*keys)
    response = RedirectResponse(inside(given["next"]), 303)
    response.set_cookie(
        COOKIE, word, max_age=SECONDS_SIGNED_IN, path="/", httponly=True, samesite="lax",
        secure=_is_secure(request),
    )  # fmt: skip
    return response


async def sign_out(request: Request) -> Response:
    """Takes the signed word from the browser."""
    if not _same_site(request):
        return _form("/", "This form was sent from another site; try again here.", status=403)
    response = RedirectResponse(SIGN_IN, 303)
    response.delete_cookie(COOKIE, path="/", httponly=True, samesite="lax", secure=_is_secure(request))
    return response


def inside(path: str) -> str:
    """The path if it stays on this server, else the first page."""
    stays = path.startswith("/") and not path.startswith(("//", SIGN_IN)) and "\\" not in path and path.isprintable()
    return path if stays else "/"


def _form(following: str, wrong: str = "", name: str = "", status: int = 200) -> Response:
    said = f'<p class="wrong" role="alert">{escape(wrong)}</p>' if wrong else ""
    body = FORM.format(wrong=said, action=SIGN_IN, name=escape(name[:100]), next=escape(following))
    return _page(body, status)


def _page(body: str, status: int = 200) -> Response:
    page = (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Sign in · Headscope</title>'
        f'<meta name="viewport" content="width=device-width"><style>{STYLE}</style></head><body><main>'
        f'<div class="logo"><span class="mark"></span>Headscope</div>{body}</main></body></html>'
    )
    return HTMLResponse(page, status, {"Content-Security-Policy": POLICY, "Cache-Control": "no-store"})


async def _given(request: Request) -> dict[str, str]:
    """The fields of the form; one that is longer than any honest one is cut."""
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > LONGEST_FORM:
            break
    fields = parse_qs(body[:LONGEST_FORM].decode("utf-8", "replace"), keep_blank_values=True)
    return {name: fields.get(name, [""])[0] for name in ("name", "password", "next")}


def _same_site(request: Request) -> bool:
    origin = request.headers.get("origin")
    return origin is None or origin.partition("://")[2] == request.headers.get("host")


def _is_secure(request: Request) -> bool:
    return request.scope["scheme"] == "https" or request.headers.get("x-forwarded-proto") == "https"


ROUTES = [
    Route(SIGN_IN, sign_in, methods=["GET", "POST"]),
    Route("/sign-out", sign_out, methods=["POST"]),
]
