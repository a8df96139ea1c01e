"""The app with its door: allowed hosts, security headers, and the sign-in where one is asked for."""

from starlette.middleware import Middleware
from streamlit.starlette import App

from ui.downloads import keep_downloads
from ui.guard import middleware
from ui.memory import give_memory_back
from ui.one_link import OneLink
from ui.one_page import OnePage
from ui.sign_in import ROUTES

give_memory_back()
keep_downloads()
app = App("app.py", middleware=[*middleware(), Middleware(OnePage), Middleware(OneLink)], routes=ROUTES)
