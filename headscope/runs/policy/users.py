"""Who may sign in: a file of names and scrypt hashes, and the signed word by which a browser is known again."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import re
import secrets
import time
from pathlib import Path

from headscope.runs.data_dir import home

OFF, PASSWORD, OIDC = "off", "password", "oidc"
LOGINS = (OFF, PASSWORD, OIDC)
SECONDS_SIGNED_IN = 12 * 3600
SHORTEST_PASSWORD = 10
LONGEST_PASSWORD = 1024
COST, BLOCK, LANES = 2**15, 8, 1
"""scrypt's N, r and p: 32 MB and about a tenth of a second for a try."""

MEMORY = 128 * COST * BLOCK * 2
NAME = re.compile(r"[\w.@+-]{1,100}")


def login() -> str:
    """How people sign in: HEADSCOPE_LOGIN, off by default."""
    given = os.environ.get("HEADSCOPE_LOGIN") or OFF
    if given not in LOGINS:
        raise ValueError(f"HEADSCOPE_LOGIN is {given[:40]!r}; allowed are {', '.join(LOGINS)}")
    if given == PASSWORD:
        _given_secret()  # said at once, not when somebody signs in
    return given


def users() -> dict[str, str]:
    """The hash of every user's password, from the file HEADSCOPE_USERS, by default `users` in the home."""
    given = os.environ.get("HEADSCOPE_USERS") or ""
    named = Path(given or "users").name
    try:
        lines = (Path(given) if given else home() / named).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(f"no list of users in {named}; make one with: headscope password NAME") from error
    entries = [line.strip() for line in lines if line.strip() and not line.startswith("#")]
    found = dict(entry.partition(":")[::2] for entry in entries)
    if not found or not all(NAME.fullmatch(name) and _parts(hashed) for name, hashed in found.items()):
        raise ValueError(f"{named} has a line that is not NAME:HASH; make one with: headscope password NAME")
    return found


def entry(name: str, password: str) -> str:
    """The line for the list of users."""
    if not NAME.fullmatch(name):
        raise ValueError(f"the name {name[:100]!r}; allowed are letters, digits and . _ @ + -, at most 100")
    if not SHORTEST_PASSWORD <= len(password) <= LONGEST_PASSWORD:
        raise ValueError(
            f"a password of {len(password)} characters; allowed are {SHORTEST_PASSWORD} to {LONGEST_PASSWORD}"
        )
    salt = secrets.token_bytes(16)
    return f"{name}:scrypt${salt.hex()}${_scrypt(password, salt).hex()}"


def is_right(name: str, password: str) -> bool:
    """Whether that is the user's password; a name that nobody has takes as long."""
    hashed = users().get(name, "")
    salt, right = _parts(hashed) or (b"nobody", b"")
    given = _scrypt(password[:LONGEST_PASSWORD], salt)
    return hmac.compare_digest(given, right)


def signed_word(name: str, now: float | None = None) -> str:
    """What the browser of that user shows from now on; it holds for twelve hours or until the password changes."""
    until = int((time.time() if now is None else now) + SECONDS_SIGNED_IN)
    payload = json.dumps([name, until]).encode().hex()
    return f"{payload}.{_signature(payload, users()[name])}"


def user_of(word: str, now: float | None = None) -> str:
    """The user that a signed word names; empty where it is none of ours, too old, or of somebody who is gone."""
    payload, _, signature = word.partition(".")
    try:
        name, until = json.loads(bytes.fromhex(payload))
        hashed = users().get(name, "")
        right = hmac.compare_digest(signature.encode(), _signature(payload, hashed).encode())
        holds = bool(hashed) and right and (time.time() if now is None else now) < until
    except (ValueError, TypeError, RecursionError):  # what is no word of ours may be any JSON
        return ""
    return str(name) if holds else ""


def _signature(payload: str, hashed: str) -> str:
    key = hashlib.sha256(f"{_secret()}\n{hashed}".encode()).digest()
    return hmac.new(key, payload.encode(), hashlib.sha256).hexdigest()


def _secret() -> str:
    """HEADSCOPE_SECRET, else one that is made once and kept in the home, for the server's eyes only."""
    given = _given_secret()
    if given:
        return given
    try:
        found = _kept_secret(home() / "secret")
    except OSError as error:
        raise ValueError("the file `secret` in the home cannot be read or written") from error
    if len(found) < 32:
        raise ValueError("the file `secret` in the home is broken; delete it, and everybody signs in again")
    return found


def _given_secret() -> str:
    given = os.environ.get("HEADSCOPE_SECRET", "")
    if given and len(given) < 32:
        raise ValueError("HEADSCOPE_SECRET is shorter than 32 characters")
    return given


def _kept_secret(path: Path) -> str:
    try:
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(secrets.token_hex(32))
    except FileExistsError:
        pass
    return path.read_text(encoding="utf-8").strip()


def _parts(hashed: str) -> tuple[bytes, bytes] | None:
    """Salt and key of a hash; None where it is none."""
    found = re.fullmatch(r"scrypt\$([0-9a-f]{32})\$([0-9a-f]{64})", hashed)
    return (bytes.fromhex(found[1]), bytes.fromhex(found[2])) if found else None


def _scrypt(password: str, salt: bytes) -> bytes:
    return hashlib.scrypt(password.encode(), salt=salt, n=COST, r=BLOCK, p=LANES, maxmem=MEMORY, dklen=32)
