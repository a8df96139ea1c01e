"""What docs/deployment.md gives to copy is what the door sends, and what the container is tried with."""

from __future__ import annotations

import re

import yaml

from headscope.web.server.guard import HEADERS
from tests.docs.blocks import blocks
from tools.try_container import LIMITS


def test_a_proxy_before_an_app_without_a_door_sends_the_headers_of_the_door_and_no_others() -> None:
    text = blocks("deployment.md", "nginx")[1]
    lines = re.findall(r'^add_header (\S+) (?:"(.*)"|(\S+)) always;$', text, re.MULTILINE)
    assert [(name, quoted or bare) for name, quoted, bare in lines] == list(HEADERS.items())
    assert len(lines) == len(text.splitlines())


def test_the_container_is_tried_with_the_limits_of_the_compose_file() -> None:
    service = yaml.safe_load(blocks("deployment.md", "yaml")[0])["services"]["headscope"]
    assert {key: service.get(key) for key in LIMITS} == {
        "read_only": True, "tmpfs": ["/tmp"], "cap_drop": ["ALL"], "security_opt": ["no-new-privileges:true"],
        "init": True, "mem_limit": "8g", "pids_limit": 512,
    }  # fmt: skip
    assert {"privileged", "user", "cap_add", "ports"}.isdisjoint(service)
