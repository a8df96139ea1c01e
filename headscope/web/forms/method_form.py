"""Which method scores the heads, with which options, on how many examples."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import streamlit as st

from headscope.runs.kinds.importance import ImportanceRun
from headscope.web.page.choice import Choice

SIZES = (32, 64, 128, 256, 512)
USUAL = 128


@dataclass(frozen=True)
class Scoring:
    """A method with its options, as the link holds them."""

    method: str = "gradient"
    n: int = USUAL
    options: dict[str, Any] = field(default_factory=dict)

    def run(self, choice: Choice) -> ImportanceRun:
        """What to ask for."""
        return ImportanceRun(choice.model, method=self.method, options=self.options, n=self.n, **choice.judged)


def method_options(method: dict[str, Any]) -> dict[str, Any]:
    """A widget for every option of a method; gives those that are not as usual."""
    chosen = {}
    for option in method["options"]:
        value = option_widget(method["key"], option)
        if value != option["default"]:
            chosen[option["name"]] = value
    return chosen


def option_widget(method: str, option: dict[str, Any]) -> Any:
    """A widget for one option, in the link."""
    label = option["name"].replace("_", " ").capitalize()
    key = f"{method}-{option['name']}"
    default = option["default"]
    shared: dict[str, Any] = {"key": key, "help": option["about"] or None, "bind": "query-params"}
    if option["choices"]:
        return st.selectbox(label, option["choices"], option["choices"].index(default), **shared)
    if isinstance(default, bool):
        return st.toggle(label, default, **shared)
    if isinstance(default, str):
        return st.text_input(label, default, **shared)
    return st.number_input(label, value=default, **shared)
