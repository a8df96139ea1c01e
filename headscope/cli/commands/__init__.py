"""The commands of cli.py: one a file."""
