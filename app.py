"""The page list, and nothing before it but the question who is there."""

import streamlit as st

from headscope.web.page.site_map import MODEL, SITE_MAP
from headscope.web.server.visitor import visitor

# Without icons: Streamlit would fetch them as the browser tab's picture, from the internet. The side bar has its own.
PAGES = [st.Page(one.file, title=one.title, default=one is MODEL) for group in SITE_MAP.values() for one in group]

visitor()  # who has not signed in where that is asked for sees no page
st.navigation(PAGES, position="hidden").run()
