"""Asks for runs from a page, and shows how far they are while the page stays usable."""

from __future__ import annotations

import time

import streamlit as st

from headscope.models.loading.known_models import specimen_names
from headscope.runs.client import submit, wait
from headscope.runs.kind import Kind
from headscope.runs.policy.owner import set_owner
from headscope.runs.policy.visitor_store import VisitorStore
from headscope.runs.run import DONE, FAILED, QUERY, RESUMABLE, STOPPED, WAITING, Run, progress_line
from headscope.web.page.errors import by_click, told
from headscope.web.page.markdown import plain
from headscope.web.runs.polling import poll_every
from headscope.web.server.visitor import visitor

PATIENCE = 1.2
"""Seconds that a page waits before it shows progress instead."""


def store() -> VisitorStore:
    """The store of this server, as the present visitor sees it."""
    who = visitor()
    set_owner(who)
    return store_of(who)


@st.cache_resource(show_spinner=False)
def store_of(owner: str | None) -> VisitorStore:
    """The runs of one user, or all of them where nobody signs in."""
    return VisitorStore(owner=owner)


def ask(kind: Kind) -> None:
    """Asks for a run by a click; the page says it if that is refused."""
    by_click(lambda: submit(store(), kind))


def answered(kind: Kind, patience: float = PATIENCE) -> Run | None:
    """The run once it is done; until then None, and its progress stands here and calls the page again at the end.

    A run that failed is a ValueError with its one sentence. A question is asked anew each time the page runs, so only
    other runs have a button for that, and questions that were given up.
    """
    run = wait(store(), submit(store(), kind), patience)
    if run.state == DONE and not kind.kept and run.lost_file:
        store().delete(run.id)  # an answer without its file is asked for anew
        run = wait(store(), submit(store(), kind), patience)
    if run.state == DONE:
        return run
    if run.state == FAILED:
        if run.lane != QUERY or store().is_given_up(run.id):
            _resume_button(run, "Try again")
        raise ValueError(run.message)
    if run.ended:
        show_ended(run)
    else:
        _show_progress(run)
    return None


def known(kind: Kind) -> Run | None:
    """The run if it is done already; nothing is started."""
    try:
        run = store().get(kind.as_run(store().folder).id)
    except KeyError:
        return None
    return run if run.state == DONE else None


def show_ended(run: Run) -> None:
    """A run that ended short of its aim, and a way to go on."""
    with st.container(key=f"ended-{run.id}"):
        why = f" {run.message}" if run.state == STOPPED else ""
        st.warning(plain(f"{run.title}: {run.state}.{why}"))
        _resume_button(run, "Resume")


def _resume_button(run: Run, label: str) -> None:
    st.button(label, key=f"resume-{run.id}", on_click=by_click, args=(store().resume, run.id))


def _show_progress(run: Run) -> None:
    """How far it is, and a button outside of what runs twice a second, which would swallow clicks."""
    with st.container(key=f"progress-{run.id}", horizontal=True, vertical_alignment="center"):
        _progress(run.id)
        if run.lane != QUERY:
            st.button(
                "Cancel",
                key=f"cancel-{run.id}",
                on_click=by_click,
                args=(store().cancel, run.id),
                type="tertiary",
            )


@poll_every(0.5)
@told
def _progress(run_id: str) -> None:
    run = store().get(run_id)
    if run.ended:
        st.rerun(scope="app")
    st.progress(run.share, plain(progress_line(run, time.time())))


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


def show_run_button(run: Run, key: str) -> None:
    """The one button that fits the state of the run; none once it is done."""
    if run.state in WAITING:
        stop = store().cancel, run.id
        st.button("Stop", key=f"stop-{key}", on_click=by_click, args=stop, icon=":material/stop_circle:")
    elif run.state in RESUMABLE:
        row = st.container(horizontal=True, vertical_alignment="center")
        row.warning(plain(run.message if run.state == FAILED else f"This run was {run.state}; it can go on."))
        row.button("Go on", key=f"go-on-{key}", on_click=by_click, args=(store().resume, run.id))
