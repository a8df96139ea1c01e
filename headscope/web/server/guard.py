"""What stands before every request: allowed hosts, the sign-in, and the headers that tell a browser what to trust.

the server puts it around the app, outside of Streamlit: pages, deep links, downloads, uploads and the web socket of
each page all pass here.
"""

from __future__ import annotations

from http.cookies import CookieError, SimpleCookie
from urllib.parse import quote

from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import HTTPConnection
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from streamlit import config

from headscope.runs.policy.limits import demo
from headscope.runs.policy.users import OFF, OIDC, login, user_of
from headscope.web.server.provider import RefusedError, claims_of, is_on_the_way, mail_of

COOKIE = "headscope_user"
SIGN_IN = "/sign-in"
OPEN = (SIGN_IN, "/_stcore/health")
"""What is there for everybody: the sign-in itself, and a word of life for whoever watches the server."""

UPLOADS = "/_stcore/upload_file"
POLICY_VIOLATION = 1008

# Streamlit writes styles as it goes and starts components, charts and workers from code that it makes itself; scripts,
# connections and everything else come from this server alone.
CONTENT_SECURITY_POLICY = "; ".join(
    (
        "default-src 'self'",
        "script-src 'self' 'unsafe-inline' blob:",
        "style-src 'self' 'unsafe-inline'",
        "img-src 'self' data: blob:",
        "font-src 'self' data:",
        "connect-src 'self'",
        "worker-src 'self' blob:",
        "frame-src 'self' blob:",
        "object-src 'none'",
        "base-uri 'self'",
        "form-action 'self'",
        "frame-ancestors 'self'",
    )
)
HEADERS = {
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "SAMEORIGIN",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
}


class Headers:
    """Puts the security headers on every response that does not set its own, that to a fault of ours among them."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Passes the request on, and the response back with the headers."""
        began = False

        async def sent(message: Message) -> None:
            nonlocal began
            if message["type"] == "http.response.start":
                began = True
                given = {name.lower() for name, _ in message["headers"]}
                own = [(name.lower().encode(), value.encode()) for name, value in HEADERS.items()]
                message["headers"] = [*message["headers"], *(pair for pair in own if pair[0] not in given)]
            await send(message)

        try:
            await self.app(scope, receive, sent)
        except Exception:
            if scope["type"] == "http" and not began:
                await PlainTextResponse("a fault of this server; its log says more", 500)(scope, receive, sent)
            raise


class SignedIn:
    """Lets nobody pass who has not signed in where that is asked for; and no file where the server is a demo.

    A setting that cannot be read lets nobody pass at all.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Passes the request on or answers it."""
        refusal = _refusal(HTTPConnection(scope)) if scope["type"] in ("http", "websocket") else None
        if refusal is None:
            await self.app(scope, receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": POLICY_VIOLATION})
        else:
            await refusal(scope, receive, send)


def _refusal(connection: HTTPConnection) -> Response | None:
    """The answer to a request that may not pass."""
    path = connection.scope["path"]  # as routes see it: a parsed address lacks tabs and newlines
    try:
        if demo() and path.startswith(UPLOADS):
            return PlainTextResponse("this is a demo, which takes no data of your own", 403)
        if _passes(connection):
            return None
    except RefusedError as error:
        return PlainTextResponse(str(error), 403)
    except ValueError as error:
        return PlainTextResponse(str(error), 503)
    if connection.scope.get("method") == "GET" and "text/html" in connection.headers.get("accept", ""):
        query = connection.scope["query_string"]
        asked = path.encode("utf-8", "replace") + (b"?" + query if query else b"")
        return RedirectResponse(f"{SIGN_IN}?next={quote(asked, safe='/')}", 303)
    return PlainTextResponse("sign in first", 401)


def _passes(connection: HTTPConnection) -> bool:
    """Whether somebody signed in who may come in, nobody has to, or the path is there for everybody."""
    how, path = login(), connection.scope["path"]
    if how == OFF or path in OPEN:
        return True
    if how == OIDC:
        return is_on_the_way(path) or bool(mail_of(claims_of(connection.cookies)))
    return bool(user_of(cookie_of(connection)))


def cookie_of(connection: HTTPConnection) -> str:
    """The signed word that a browser shows, or nothing."""
    try:
        cookies = SimpleCookie(connection.headers.get("cookie", ""))
    except CookieError:
        return ""
    return cookies[COOKIE].value if COOKIE in cookies else ""


def middleware() -> list[Middleware]:
    """What every request passes, the outermost first."""
    hosts = config.get_option("server.allowedHosts") or ["*"]
    return [
        Middleware(Headers),
        Middleware(TrustedHostMiddleware, allowed_hosts=list(hosts), www_redirect=False),
        Middleware(SignedIn),
    ]
