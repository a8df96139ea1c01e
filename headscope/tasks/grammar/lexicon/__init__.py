"""The words of the grammar."""
