"""Masks that are learned, and models trained after heads went."""
