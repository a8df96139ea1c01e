"""What the user works on: a model, what it is judged by, and a head, all of it in the link."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import streamlit as st

from headscope.models.heads import HeadGrid, HeadId
from headscope.runs.policy.uploads import path_of

DEFAULT_MODEL = "translator"
SIZE, PRESENTER = "size", "presenter"
"""The parameter of a link that asks for a page that a lecture hall can read, and its value."""

COLUMN_ROLES = ("text", "pair", "label", "target")


@dataclass(frozen=True)
class Choice:
    """A model and a task: by default the one that fits it, one of ours by its key, or somebody's own data.

    `data` is the mark of an upload, a path, or `hub:` and the name of a data set; `columns` say what its columns hold.
    `size` is that of the page, so that links keep it.
    """

    model: str = DEFAULT_MODEL
    task: str = ""
    data: str = ""
    columns: tuple[tuple[str, str], ...] = ()
    size: str = ""

    @classmethod
    def from_link(cls) -> Choice:
        """What the address of the page says."""
        given = st.query_params
        columns = tuple((role, given[f"column-{role}"]) for role in COLUMN_ROLES if f"column-{role}" in given)
        size = PRESENTER if is_presented() else ""
        return cls(given.get("model", DEFAULT_MODEL), given.get("task", ""), given.get("data", ""), columns, size)

    @property
    def link(self) -> dict[str, str]:
        """The parameters of a link to this choice; what is as usual is left out."""
        columns = {f"column-{role}": name for role, name in self.columns}
        given = {"model": self.model, "task": self.task, "data": self.data, **columns, SIZE: self.size}
        return {name: value for name, value in given.items() if value}

    def put(self) -> None:
        """Makes this the choice of the page; what belonged to another model goes."""
        st.query_params.from_dict(self.link)

    def with_model(self, model: str) -> Choice:
        """Another model, judged by what fits it."""
        return Choice(model, size=self.size)

    def with_task(self, task: str) -> Choice:
        """One of our tasks."""
        return Choice(self.model, task, size=self.size)

    def with_data(self, data: str, columns: dict[str, str]) -> Choice:
        """Somebody's own data."""
        return replace(self, task="", data=data, columns=tuple(columns.items()))

    @property
    def judged(self) -> dict[str, Any]:
        """The fields of a run that say what the model is judged by."""
        return {"task": self.task, "data": path_of(self.data), "columns": dict(self.columns)}


def is_presented() -> bool:
    """Whether the page is shown to a lecture hall."""
    return st.query_params.get(SIZE) == PRESENTER


def head_in_link(grid: HeadGrid) -> HeadId | None:
    """The head that the link names, if this model has it."""
    address = st.query_params.get("head", "")
    return next((head for head in grid if str(head) == address), None)


def attention_link(choice: Choice, head: HeadId | None) -> dict[str, str]:
    """The parameters of a link to the Attention page, at a head if there is one."""
    if head is None:
        return choice.link
    return choice.link | {"bank": head.bank.capitalize(), "layer": str(head.layer), "head": str(head.head)}
