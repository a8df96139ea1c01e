"""The address of a Ray cluster, and whether anything of the kind answers there: Ray itself would wait for ever."""

from __future__ import annotations

import os
import socket

from headscope.models.text import shown

VARIABLE = "HEADSCOPE_RAY"
SECONDS = 3.0
GREETING = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes([0, 0, 0, 4, 0, 0, 0, 0, 0])
"""How a speaker of HTTP/2, which Ray's nodes are, begins: the preface and empty settings."""

SETTINGS = 4
"""The type of the frame that is answered first."""


def ray_address() -> str:
    """HOST:PORT of the cluster; empty where there is none."""
    return os.environ.get(VARIABLE, "").strip()


def check_answers(address: str) -> None:
    """Raise a ValueError in one sentence, within seconds, unless something that can be Ray answers."""
    host, colon, port = address.rpartition(":")
    if not colon or not host or "/" in host or not port.isdecimal() or not 0 < int(port) < 2**16:
        raise ValueError(f"{VARIABLE} is {shown(address)!r}; allowed is HOST:PORT, such as 10.0.0.1:6379")
    try:
        with socket.create_connection((host.strip("[]"), int(port)), SECONDS) as connection:
            connection.settimeout(SECONDS)
            connection.sendall(GREETING)
            answer = connection.recv(9)
    except OSError as error:
        reason = error.strerror or str(error)
        raise ValueError(f"no Ray cluster can be reached at {shown(address)}: {reason.lower()}") from error
    if len(answer) < 4 or answer[3] != SETTINGS:
        raise ValueError(f"what answers at {shown(address)} is no Ray cluster")
