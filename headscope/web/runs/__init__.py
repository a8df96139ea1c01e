"""Runs as pages ask for them and show them."""
