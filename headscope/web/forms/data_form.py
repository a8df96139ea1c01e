"""Somebody's own data: uploaded or by path, looked at, and its columns named."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from headscope.runs.policy.limits import UPLOAD
from headscope.runs.policy.uploads import keep, path_of
from headscope.tasks.readers import Source, preview
from headscope.web.page.choice import COLUMN_ROLES, Choice
from headscope.web.page.markdown import plain

TYPES = ("csv", "tsv", "jsonl", "conllu", "txt")
NONE = "not there"
MEANINGS = {
    "text": "Text",
    "pair": "Second text",
    "label": "Label, for classification",
    "target": "Translation, for translation",
}
HUB = "hub:"


def data_form(choice: Choice) -> None:
    """Lets the user name a file or a data set, shows its first rows, and makes it what the model is judged by."""
    uploaded = st.file_uploader(
        "CSV, TSV, JSONL, CoNLL-U or plain text", type=list(TYPES), key="upload", max_upload_size=UPLOAD.value
    )
    typed = st.text_input(
        "or a path, or a data set of the hub", key="data-path", placeholder="a path, or hub:owner/name:configuration"
    ).strip()
    data = keep(uploaded.name, uploaded.getvalue()) if uploaded is not None else typed
    if data.startswith(HUB):
        _hub_columns(choice, data)
    elif data:
        _file_columns(choice, data)
    elif choice.data:
        st.button("Back to the model's own task", key="own-task", on_click=choice.with_task("").put)


def _file_columns(choice: Choice, data: str) -> None:
    source = Source.from_path(path_of(data))
    if source.suffix == ".txt":
        st.caption(
            f"{len(source.text().splitlines())} lines; the model is judged on them, by prediction or by fidelity."
        )
        st.button("Use this text", key="use-data", on_click=choice.with_data(data, {}).put, type="primary")
        return
    seen = preview(source)
    st.dataframe(pd.DataFrame(seen.rows, columns=list(seen.columns)), height=180, hide_index=True, key="preview")
    if seen.broken:
        st.warning(plain(f"{len(seen.broken)} broken rows among the first are skipped: {seen.broken[0]}"))
    for role in COLUMN_ROLES:
        options = list(seen.columns) if role == "text" else [NONE, *seen.columns]
        likely = next((name for name in seen.columns if name.lower() == role), options[0])
        st.selectbox(MEANINGS[role], options, index=options.index(likely), key=f"column-of-{role}")
    st.button("Use this data", key="use-data", type="primary", on_click=_use, args=(choice, data))


def _hub_columns(choice: Choice, data: str) -> None:
    """A data set is only fetched when it is used, so its columns are typed."""
    for role in COLUMN_ROLES:
        st.text_input(MEANINGS[role], "text" if role == "text" else NONE, key=f"column-of-{role}")
    st.button("Use this data set", key="use-data", type="primary", on_click=_use, args=(choice, data))


def _use(choice: Choice, data: str) -> None:
    """Takes the columns as they are chosen at the moment of the click."""
    chosen = {role: str(st.session_state[f"column-of-{role}"] or NONE).strip() for role in COLUMN_ROLES}
    choice.with_data(data, {role: name for role, name in chosen.items() if name not in (NONE, "")}).put()
