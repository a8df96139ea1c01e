"""A report of runs as one HTML file."""
