"""What a control is, and the stage it stands on."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from headscope.models.heads import HeadId
from headscope.models.registry import Registry
from headscope.runs.kind import Kind
from headscope.web.page.choice import Choice


@dataclass(frozen=True)
class Stage:
    """A step of a lesson on the page: its model, a place for widgets and numbers, and one for the picture.

    `big` is the size for a projector. `key` gives a widget of this step its name.
    """

    lesson: str
    step: int
    choice: Choice
    left: DeltaGenerator
    right: DeltaGenerator
    big: bool = False

    def key(self, name: str) -> str:
        """The key of a widget or a chart."""
        return f"lesson-{self.lesson}-{self.step}-{name}"

    def slider(self, label: str, name: str, low: int, high: int, start: int) -> int:
        """A whole number, which is part of the link."""
        given = self._first(name, str(start))
        first = min(max(int(given), low), high) if given.isdecimal() and len(given) < 7 else start
        value = int(self.left.slider(label, low, high, first, key=self.key(f"{name}-{low}-{high}")))
        st.query_params[name] = str(value)
        return value

    def pick(self, label: str, name: str, options: list[str], start: str) -> str:
        """One of a few, which is part of the link."""
        given = self._first(name, start)
        first = given if given in options else start
        value = str(self.left.segmented_control(label, options, default=first, key=self.key(name), required=True))
        st.query_params[name] = value
        return value

    def _first(self, name: str, start: str) -> str:
        """What the link said when the step was opened: a widget whose first value changes is another widget."""
        return str(st.session_state.setdefault(self.key(f"{name}:first"), st.query_params.get(name, start)))


@dataclass(frozen=True)
class Found:
    """What a control found here, in one sentence, and whether what the step claims holds; None if that is not known.

    `head` is the one that is picked in its grid; its card opens below the step.
    """

    text: str
    holds: bool | None = None
    head: HeadId | None = None


NOTHING = Found("")
"""As long as nothing was measured."""


@dataclass(frozen=True)
class Control(ABC):
    """A frozen dataclass whose fields are the settings of a step."""

    key: ClassVar[str]

    def trainings(self, choice: Choice) -> list[Kind]:
        """The trainings that the step starts when it is opened; what is only measured is not among them."""
        del choice
        return []

    @abstractmethod
    def show(self, stage: Stage) -> Found:
        """Draws itself; gives what was found here, or NOTHING while that is not known."""


_CONTROLS = Registry[Control]("control", "headscope.web.lessons.controls")
register = _CONTROLS.register


def controls() -> dict[str, type[Control]]:
    """Every control by its key."""
    return _CONTROLS.all()


def control_with(key: str, settings: Any) -> Control:
    """The control of that key with these settings."""
    return _CONTROLS.get(key)(**settings)
