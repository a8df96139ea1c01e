"""Guided walks through papers: the lessons as plain data, their controls, and the page."""
