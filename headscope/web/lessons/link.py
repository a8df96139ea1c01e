"""Where a lesson stands: the lesson, the step and the size, all of it in the link."""

from __future__ import annotations

from dataclasses import dataclass, replace

import streamlit as st

from headscope.web.lessons.lesson import Lesson, Step, lesson_of, lessons

BIG = "presenter"


@dataclass(frozen=True)
class Place:
    """A step of a lesson, counted from 1, at the usual size or at that for a projector; no lesson is the list."""

    lesson: str = ""
    step: int = 1
    big: bool = False

    @classmethod
    def from_link(cls) -> Place:
        """What the address of the page says; a step that there is not becomes the nearest that there is."""
        given = st.query_params
        key, step = given.get("lesson", ""), given.get("step", "1")
        if not key:
            return cls(big=given.get("size") == BIG)
        n_steps = len(lesson_of(key).steps)
        number = int(step) if step.isdecimal() and len(step) < 4 else 1
        return cls(key, min(max(number, 1), n_steps), given.get("size") == BIG)

    @property
    def found(self) -> type[Lesson]:
        """The lesson."""
        return lesson_of(self.lesson)

    @property
    def shown(self) -> Step:
        """The step."""
        return self.found.steps[self.step - 1]

    @property
    def link(self) -> dict[str, str]:
        """The parameters of a link to this place; the model is that of the lesson."""
        if not self.lesson:
            return {"size": BIG} if self.big else {}
        place = {"lesson": self.lesson, "step": str(self.step), "model": self.found.model}
        return place | ({"size": BIG} if self.big else {})

    def at(self, step: int) -> Place:
        """Another step of the same lesson."""
        return replace(self, step=step)

    def next_lesson(self) -> Place | None:
        """The first step of the lesson after this one."""
        keys = list(lessons())
        after = keys[keys.index(self.lesson) + 1 :]
        return replace(self, lesson=after[0], step=1) if after else None

    def put(self) -> None:
        """Goes there; what belonged to another step goes."""
        st.query_params.from_dict(self.link)
