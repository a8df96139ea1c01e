"""Takes the smaller model home, in each format, with the proof that it computes what the mask computes."""

from __future__ import annotations

from html import escape

import streamlit as st

from headscope.runs.kinds.export import FORMATS, ExportRun
from headscope.runs.run import Run
from headscope.web.page.choice import Choice
from headscope.web.runs.requests import answered


def show_download(choice: Choice, mask: str) -> None:
    """A format, then the proof, the file and how to load it."""
    if not mask:
        st.caption("Switch at least one head off: then the smaller model can be taken home from here.")
        return
    form = st.radio("Format", list(FORMATS), format_func=FORMATS.__getitem__, key="export-format")
    wanted = (choice.model, mask, form)
    if st.button("Build it and compare it with the mask", key="export", type="primary"):
        st.session_state["export-wanted"] = wanted
    if st.session_state.get("export-wanted") != wanted:
        return
    run = answered(ExportRun(choice.model, mask, form))
    if run is not None:
        _show_built(run, choice.model, form)


def _show_built(run: Run, model: str, form: str) -> None:
    """The proof, the file and how to load it.

    The button has the bytes before the click: what it made on the click would belong to nobody, and Streamlit would
    throw it away at the next turns of a part that runs every second, perhaps before a slow browser has asked for it.
    """
    proof = run.found["proof"]
    told = f"<b>Equal to the mask</b> to {proof['max_difference']:.1e} of the largest output"
    if proof.get("mask_effect", 1.0) <= proof.get("tolerance", 0.0):
        told = f"<b>No proof</b>: the mask changes nothing measurable on {proof['positions']} positions"
    st.html(
        f'<p class="hl-proof">{told}, '
        f"{proof['parameters']:,} of {proof['parameters_dense']:,} parameters, "
        f"{run.found['bytes'] / 1e6:.1f}\N{NO-BREAK SPACE}MB packed.</p>"
    )
    name = "".join(letter if letter.isalnum() else "-" for letter in model.rsplit("/", 1)[-1])
    st.download_button(
        "Download",
        data=(run.folder / run.found["file"]).read_bytes(),
        file_name=f"{name}-smaller-{form}.zip",
        mime="application/zip",
        key="download-model",
        on_click="ignore",
        icon=":material/download:",
    )
    st.caption(f"Unpack it into a folder `{escape(name)}` and load it with:")
    st.code(f'folder = "{name}"\n{run.found["snippet"]}', language=None)
