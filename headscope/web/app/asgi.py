"""The app as a server: allowed hosts, security headers, and the sign-in where one is asked for."""

from pathlib import Path

from starlette.middleware import Middleware
from streamlit.starlette import App

from headscope.runs.execution.process_memory import limit_freed_memory
from headscope.web.server.downloads import keep_downloads
from headscope.web.server.guard import middleware
from headscope.web.server.one_link import OneLink
from headscope.web.server.one_page import OnePage
from headscope.web.server.sign_in import ROUTES

limit_freed_memory()
keep_downloads()
app = App(
    Path(__file__).with_name("script.py"),
    middleware=[*middleware(), Middleware(OnePage), Middleware(OneLink)],
    routes=ROUTES,
)
