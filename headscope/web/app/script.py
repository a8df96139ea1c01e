"""The script that Streamlit runs on every request: it checks who is there and shows the page that the link names."""

from __future__ import annotations

import streamlit as st

from headscope.web.page.site_map import MODEL, SITE_MAP
from headscope.web.server.visitor import visitor


def show() -> None:
    """Registers the pages after checking the sign-in, and runs one.

    They have no icons: Streamlit would fetch them as the picture of the browser's tab, from the internet.
    """
    pages = [st.Page(one.file, title=one.title, default=one is MODEL) for group in SITE_MAP.values() for one in group]
    visitor()  # who has not signed in where that is asked for sees no page
    st.navigation(pages, position="hidden").run()


if __name__ == "__main__":
    show()
