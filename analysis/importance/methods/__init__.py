"""Importance methods, one a file."""
