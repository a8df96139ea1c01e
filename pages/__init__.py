"""One file per page: choose, start, draw."""
