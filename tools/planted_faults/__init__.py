"""Measures which share of planted faults the tests catch."""
