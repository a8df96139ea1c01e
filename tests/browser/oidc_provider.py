"""A tiny provider of OpenID Connect: the authorization code flow for one client, with accounts that anybody may choose.

It refuses what a real one refuses: a client or an address that it does not know, a wrong secret, a code that was used
before, a verifier that does not fit its challenge. What an account claims may lie, so that tests see who believes it.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import secrets
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from html import escape
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from joserfc import jwt
from joserfc.jwk import KeySet, RSAKey

CLIENT = "headscope"
SECONDS = 300
"""How long a code and a token hold."""

KEY = "key"
"""Not a claim: an account that has it gets its token from a key that the provider does not show."""

Claims = Mapping[str, Any]
Fields = Mapping[str, str]


class RefusedError(ValueError):
    """What the provider does not answer, by the error code of OAuth 2."""


class Provider:
    """What it knows: the client's secret and address, the accounts, its key, and the codes that nobody used yet."""

    def __init__(self, address: str, accounts: Mapping[str, Claims]) -> None:
        self.address = address
        self.accounts = accounts
        self.client_secret = secrets.token_urlsafe(32)
        self.redirect_uri = ""
        self.key, self.another = (RSAKey.generate_key(2048, {"kid": "one", "use": "sig"}) for _ in range(2))
        self.codes: dict[str, tuple[Fields, Claims]] = {}
        self.ended: list[str] = []

    def discovery(self) -> dict[str, Any]:
        """Where everything is, which is all that a client has to be told."""
        paths = ("authorization_endpoint", "token_endpoint", "end_session_endpoint", "jwks_uri")
        return {path: f"{self.address}/{path}" for path in paths} | {
            "issuer": self.address,
            "response_types_supported": ["code"],
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": ["RS256"],
            "token_endpoint_auth_methods_supported": ["client_secret_basic"],
            "code_challenge_methods_supported": ["S256"],
        }

    def authorised(self, asked: Fields) -> str:
        """Where the browser goes on: back to the client with a code for the account that was chosen."""
        _check(asked.get("client_id") == CLIENT, "unauthorized_client")
        _check(asked.get("redirect_uri") == self.redirect_uri, "invalid_request")
        _check(asked.get("response_type") == "code", "unsupported_response_type")
        _check("openid" in asked.get("scope", "").split(), "invalid_scope")
        _check(bool(asked.get("state")) and bool(asked.get("nonce")), "invalid_request")
        _check("code_challenge" not in asked or asked.get("code_challenge_method") == "S256", "invalid_request")
        if "account" not in asked:
            return ""
        code = secrets.token_urlsafe(16)
        self.codes[code] = asked, self.accounts[asked["account"]]
        return f"{self.redirect_uri}?{urlencode({'code': code, 'state': asked['state']})}"

    def token(self, given: Fields, credentials: str) -> dict[str, Any]:
        """The tokens for a code, which is good for one try."""
        right = base64.b64encode(f"{CLIENT}:{self.client_secret}".encode()).decode()
        _check(hmac.compare_digest(credentials, f"Basic {right}"), "invalid_client")
        _check(given.get("grant_type") == "authorization_code", "unsupported_grant_type")
        asked, claims = self.codes.pop(given.get("code", ""), ({}, {}))
        _check(bool(asked) and given.get("redirect_uri") == asked["redirect_uri"], "invalid_grant")
        challenge = _challenge(given["code_verifier"]) if "code_verifier" in given else None
        _check(asked.get("code_challenge") == challenge, "invalid_grant")
        now = int(time.time())
        standard = {"iss": self.address, "aud": CLIENT, "sub": asked["account"], "nonce": asked["nonce"]}
        told = standard | {"iat": now, "exp": now + SECONDS} | {name: claims[name] for name in claims if name != KEY}
        signed = jwt.encode({"alg": "RS256", "kid": "one"}, told, self.another if KEY in claims else self.key)
        return {"access_token": secrets.token_urlsafe(), "token_type": "Bearer", "id_token": signed}

    def signed_out(self, asked: Fields) -> str:
        """Where the browser goes after the sign-out, of which the provider takes note."""
        _check(asked.get("post_logout_redirect_uri") == self.redirect_uri, "invalid_request")
        self.ended.append(jwt.decode(asked["id_token_hint"], self.key, algorithms=["RS256"]).claims["sub"])
        return self.redirect_uri


@contextmanager
def running_provider(accounts: Mapping[str, Claims]) -> Iterator[Provider]:
    """A provider on a free port of this machine."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _Answers) as server:
        provider = Provider(f"http://127.0.0.1:{server.server_port}", accounts)
        server.RequestHandlerClass = type("Answers", (_Answers,), {"provider": provider})
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        try:
            yield provider
        finally:
            server.shutdown()
            thread.join()


class _Answers(BaseHTTPRequestHandler):
    provider: Provider

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        asked = dict(parse_qsl(parts.query))
        try:
            if parts.path == "/.well-known/openid-configuration":
                self._json(self.provider.discovery())
            elif parts.path == "/jwks_uri":
                self._json(KeySet([self.provider.key]).as_dict(private=False))
            elif parts.path == "/authorization_endpoint":
                self._redirect(self.provider.authorised(asked), asked)
            elif parts.path == "/end_session_endpoint":
                self._redirect(self.provider.signed_out(asked), asked)
            else:
                self._send(404, "text/plain", "nothing here")
        except RefusedError as error:
            self._json({"error": str(error)}, 400)

    def do_POST(self) -> None:
        given = dict(parse_qsl(self.rfile.read(int(self.headers["Content-Length"])).decode()))
        try:
            self._json(self.provider.token(given, self.headers.get("Authorization", "")))
        except RefusedError as error:
            self._json({"error": str(error)}, 400)

    def _redirect(self, address: str, asked: Fields) -> None:
        """On to the address; where there is none yet, the page on which somebody chooses an account."""
        if address:
            self._send(302, "text/plain", "", Location=address)
            return
        links = {name: urlencode({**asked, "account": name}) for name in self.provider.accounts}
        items = [f'<li><a href="?{escape(query)}">{escape(name)}</a></li>' for name, query in links.items()]
        head = '<!doctype html><html lang="en"><head><title>Accounts</title><link rel="icon" href="data:,"></head>'
        self._send(200, "text/html", f"{head}<body><ul>{''.join(items)}</ul></body></html>")

    def _json(self, answer: Any, status: int = 200) -> None:
        self._send(status, "application/json", json.dumps(answer))

    def _send(self, status: int, kind: str, body: str, **headers: str) -> None:
        self.send_response(status)
        for name, value in {"Content-Type": kind, "Content-Length": str(len(body.encode())), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *_: object) -> None:
        pass


def _check(holds: bool, error: str) -> None:
    if not holds:
        raise RefusedError(error)


def _challenge(verifier: str) -> str:
    """S256 of PKCE: what the client sent ahead of the verifier."""
    return base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=").decode()
