"""Guided walks through the papers, as plain data: what is said, what is shown, what is asked."""
