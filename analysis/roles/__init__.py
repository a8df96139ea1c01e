"""What each head is for: one role a file."""
