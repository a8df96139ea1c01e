"""The app without the sign-in and headers of its own server: `streamlit run app.py`; `headscope app` has them."""

from headscope.web.app.script import show

show()
