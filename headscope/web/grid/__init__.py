"""The grid of heads, and the masks that are edited on it."""
