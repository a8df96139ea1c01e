"""What can be run: one kind a file."""
