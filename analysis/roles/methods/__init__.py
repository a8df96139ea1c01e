"""Roles of heads, one a file."""
