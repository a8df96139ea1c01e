"""The commands of `headscope`, one a file."""
