"""Spells what a run does as a command, so that anybody can repeat it."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any


def spelt(name: str, model: str, arguments: Mapping[str, Any]) -> str:
    """`python cli.py NAME MODEL --field value`; what is empty is left out, pairs become NAME=VALUE.

    What has no name of its own, the field "", comes right after the model.
    """
    words = ["python", "cli.py", name, model]
    for field, value in arguments.items():
        if value is None or value is False or value in ("", {}, []):
            continue
        words += [f"--{field.replace('_', '-')}"] if field else []
        words += _words(value)
    return shlex.join(words)


def _words(value: Any) -> list[str]:
    if value is True:
        return []
    if isinstance(value, Mapping):
        return [f"{name}={one}" for name, one in value.items()]
    return [str(one) for one in value] if isinstance(value, list | tuple) else [str(value)]
