"""The page list and nothing else."""

import streamlit as st

st.set_page_config("Headlight", layout="wide", initial_sidebar_state=236)
st.navigation([st.Page("pages/model.py", title="Model", default=True)], position="hidden").run()
