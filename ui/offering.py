"""Offers runs that would take long: a button at first, then progress, then what was found."""

from __future__ import annotations

import streamlit as st

from jobs.kind import Kind
from jobs.run import Run
from models.catalog import specimen_names
from ui.asking import answered, ask, store


def offered(kind: Kind, label: str) -> Run | None:
    """The run if it is done; its progress if somebody asked for it; else a button that asks for it."""
    try:
        store().get(kind.as_run(store().folder).id)
    except KeyError:
        st.button(label, key=f"start-{label}", on_click=ask, args=(kind,))
        return None
    return answered(kind, patience=0.0)


def soon(kind: Kind, label: str) -> Run | None:
    """A run that takes seconds for a specimen, which is therefore asked at once; another model has a button."""
    return answered(kind, patience=0.0) if kind.model in specimen_names() else offered(kind, label)
