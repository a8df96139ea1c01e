"""The app with its door: allowed hosts, security headers, and the sign-in where one is asked for."""

from streamlit.starlette import App

from ui.guard import middleware
from ui.memory import give_memory_back
from ui.sign_in import ROUTES

give_memory_back()
app = App("app.py", middleware=middleware(), routes=ROUTES)
