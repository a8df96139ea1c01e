"""What docs/deployment.md gives to copy is what the door sends."""

from __future__ import annotations

import re

from tests.docs.blocks import blocks
from ui.guard import HEADERS


def test_a_proxy_before_an_app_without_a_door_sends_the_headers_of_the_door_and_no_others() -> None:
    text = blocks("deployment.md", "nginx")[1]
    lines = re.findall(r'^add_header (\S+) (?:"(.*)"|(\S+)) always;$', text, re.MULTILINE)
    assert [(name, quoted or bare) for name, quoted, bare in lines] == list(HEADERS.items())
    assert len(lines) == len(text.splitlines())
