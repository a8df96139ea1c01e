"""What a lesson is: a paper, a specimen, and six to ten steps that a teacher can project."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from headscope.models.registry import Registry


@dataclass(frozen=True)
class PaperFigure:
    """What a paper itself reports, and where; `second_hand` if it was taken from a transcription of the paper."""

    text: str
    where: str
    second_hand: bool = False


@dataclass(frozen=True)
class Step:
    """One screen: a sentence, a short text, a live control, a question, and what to notice once it is asked for.

    `control` is the key of a control of the interface and `settings` are its options. What is found here is measured
    by the control while the class looks on; no text of a lesson states a number of ours. `claim` is what the control
    decides by that number: it holds here, or it does not.
    """

    title: str
    text: str
    control: str
    question: str
    notice: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    paper: PaperFigure | None = None
    claim: str = ""


@dataclass(frozen=True)
class Lesson:
    """A walk through one paper on one specimen; subclasses are declarations, in the order of `number`."""

    key: ClassVar[str]
    number: ClassVar[int]
    title: ClassVar[str]
    paper: ClassVar[str]
    model: ClassVar[str]
    promise: ClassVar[str]
    minutes: ClassVar[int]
    reproduced: ClassVar[str]
    """The document in which the paper's claims are measured with more care."""

    steps: ClassVar[tuple[Step, ...]]


_LESSONS = Registry[Lesson]("lesson", "headscope.web.lessons.papers")
register = _LESSONS.register


def lessons() -> dict[str, type[Lesson]]:
    """Every lesson by its key, in the order in which they are taught."""
    return dict(sorted(_LESSONS.all().items(), key=lambda item: item[1].number))


def lesson_of(key: str) -> type[Lesson]:
    """The lesson of that key."""
    return _LESSONS.get(key)
