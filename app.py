"""The page list and nothing else."""

import streamlit as st

from ui.site_map import MODEL, SITE_MAP

# Without icons: Streamlit would fetch them as the browser tab's picture, from the internet. The side bar has its own.
PAGES = [st.Page(one.file, title=one.title, default=one is MODEL) for group in SITE_MAP.values() for one in group]

st.navigation(PAGES, position="hidden").run()
